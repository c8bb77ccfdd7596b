import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import { findProgram } from '../isolation/detect-isolation.ts'
import { addressSeed } from '../pod-addresses.ts'
import { type AddressRange, formatRange, overlap, parseRange } from './address-range.ts'
import { BridgeNetwork } from './bridge-network.ts'
import { type ClusterRanges, chooseRanges } from './choose-ranges.ts'
import { LoopbackNetwork } from './loopback-network.ts'
import { NetworkNames } from './network-names.ts'
import { NetworkTool } from './network-tool.ts'

export const networkChoices = ['detect', 'namespaces', 'loopback'] as const
export type NetworkChoice = (typeof networkChoices)[number]

export interface OpenNetworkOptions {
  readonly nodeId: string
  /** Where the node keeps what it must know again. */
  readonly folder: string
  readonly choice: NetworkChoice
  readonly clock: Clock
  readonly log: Logger
  /** How many networks are made ahead. */
  readonly spares?: number | undefined
}

const rangesFile = 'network.json'
const rangesSchema = z.object({ pods: z.string(), services: z.string() })

/** The best network that this machine permits for Pods. */
export async function openNetwork(options: OpenNetworkOptions): Promise<BridgeNetwork | LoopbackNetwork> {
  const { nodeId, choice, log } = options
  const loopback = (reason: string) => {
    if (choice === 'namespaces') throw new Error(`this machine does not permit networks for Pods: ${reason}`)
    return new LoopbackNetwork(nodeId, reason)
  }
  if (choice === 'loopback') return loopback('networks of their own are turned off')
  if (process.platform !== 'linux') return loopback('network namespaces exist on Linux only')
  if (process.getuid?.() !== 0) return loopback('only root can make networks for Pods')
  const programs = { ip: findProgram('ip'), nsenter: findProgram('nsenter'), sh: findProgram('sh') }
  const missing = Object.entries(programs).filter(([, path]) => path === undefined)
  if (missing.length > 0) return loopback(`these programs are missing: ${missing.map(([name]) => name).join(', ')}`)
  const { ip = '', nsenter = '', sh = '' } = programs
  const tool = new NetworkTool({ ip, nsenter, sh }, options.clock)
  try {
    const ranges = await rangesFor(tool, options)
    return await BridgeNetwork.open({ nodeId, ranges, tool, clock: options.clock, log, spares: options.spares })
  } catch (error) {
    return loopback(errorMessage(error))
  }
}

/** Those of former runs, unless somebody else has taken them meanwhile. */
async function rangesFor(tool: NetworkTool, { nodeId, folder }: OpenNetworkOptions): Promise<ClusterRanges> {
  const path = join(folder, rangesFile)
  const routes = foreignRoutes(await tool.read(['-4', 'route', 'show', 'table', 'all']), new NetworkNames(nodeId))
  const known = readRanges(path)
  // Our own route to the Services is among them, since it is not the bridge's.
  const others = routes.filter((route) => !known || formatRange(route) !== formatRange(known.services))
  if (known && !others.some((route) => overlap(route, known.pods) || overlap(route, known.services))) return known
  const chosen = chooseRanges(addressSeed(nodeId), routes)
  if (!chosen) throw new Error('the machine has routes to every private network')
  const text = JSON.stringify({ pods: formatRange(chosen.pods), services: formatRange(chosen.services) })
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
  return chosen
}

function readRanges(path: string): ClusterRanges | undefined {
  try {
    const written = rangesSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
    const [pods, services] = [parseRange(written.pods), parseRange(written.services)]
    return pods && services ? { pods, services } : undefined
  } catch {
    return undefined
  }
}

function foreignRoutes(said: unknown, names: NetworkNames): AddressRange[] {
  if (!Array.isArray(said)) return []
  return said.flatMap((route: unknown) => {
    if (typeof route !== 'object' || route === null || !('dst' in route) || typeof route.dst !== 'string') return []
    if (route.dst === 'default') return []
    const device = 'dev' in route && typeof route.dev === 'string' ? route.dev : ''
    if (device === names.bridge || names.numberOf(device) !== undefined) return []
    const range = parseRange(route.dst)
    return range ? [range] : []
  })
}
