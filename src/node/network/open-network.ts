import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import { findProgram } from '../isolation/detect-isolation.ts'
import { addressSeed } from './pod-addresses.ts'
import { type AddressRange, formatRange, overlap, parseRange } from '../../resources/address-range.ts'
import { BridgeNetwork } from './bridge-network.ts'
import { type ClusterRanges, type FamilyRanges, chooseIpv6Ranges, chooseRanges } from './choose-ranges.ts'
import { CutOffError } from './cut-off-error.ts'
import { type FilterTool, NftTool } from './filter-tool.ts'
import { LoopbackNetwork } from './loopback-network.ts'
import { ipv6Missing } from './machine-ipv6.ts'
import { NetworkNames } from './network-names.ts'
import { NetworkTool } from './network-tool.ts'
import { removeOwnerlessRules } from './ownerless-rules.ts'
import { objectsOf, textOf } from './spec-text.ts'
import { type UserNetwork, type UserNetworkFacts, routesOutside } from './user/user-network.ts'

export const networkChoices = ['detect', 'namespaces', 'loopback'] as const
export type NetworkChoice = (typeof networkChoices)[number]

export interface OpenNetworkOptions {
  readonly nodeId: string
  /** Where the node keeps the chosen ranges for its next run. */
  readonly folder: string
  readonly choice: NetworkChoice
  readonly clock: Clock
  readonly log: Logger
  /** How many networks are kept ready. */
  readonly spares?: number | undefined
  /** Whether Pods have IPv6 where the machine does; unless told, they do. */
  readonly ipv6?: boolean | undefined
  /** Whether Pods of another cluster of this program have it. */
  readonly provenIpv6?: boolean | undefined
  /** Of an ordinary user: the network that this program was started in, or why there is none. */
  readonly userNetwork?: UserNetworkFacts | undefined
}

/** What is found here holds for as long as this program runs, so a machine that is too busy is asked again. */
const mostAttempts = 3
const rangesFile = 'network.json'
const familySchema = z.object({ pods: z.string(), services: z.string() })
const rangesSchema = familySchema.extend({ ipv6: familySchema.optional() })

/** The best network that this machine permits for Pods. */
export async function openNetwork(options: OpenNetworkOptions): Promise<BridgeNetwork | LoopbackNetwork> {
  const { nodeId, choice, userNetwork } = options
  const loopback = (reason: string) => {
    if (choice === 'namespaces') throw new Error(`this machine does not permit networks for Pods: ${reason}`)
    return new LoopbackNetwork(nodeId, reason)
  }
  if (choice === 'loopback') return loopback('networks of their own are turned off')
  if (process.platform !== 'linux') return loopback('network namespaces exist on Linux only')
  if (process.getuid?.() !== 0) {
    if (!userNetwork) return loopback('only root can make networks for Pods')
    if ('reason' in userNetwork) return loopback(userNetwork.reason)
  }
  const programs = { ip: findProgram('ip'), nsenter: findProgram('nsenter'), sh: findProgram('sh') }
  const missing = Object.entries(programs).filter(([, path]) => path === undefined)
  if (missing.length > 0) return loopback(`these programs are missing: ${missing.map(([name]) => name).join(', ')}`)
  const { ip = '', nsenter = '', sh = '' } = programs
  const { clock, log } = options
  const tool = new NetworkTool({ ip, nsenter, sh }, clock)
  const nft = findProgram('nft')
  const filter = nft === undefined ? undefined : new NftTool([nft], clock)
  for (let attempt = 1; ; attempt++) {
    const isLast = attempt === mostAttempts
    try {
      const network = await openBridge(tool, filter, options, isLast)
      if (filter) await tidyRules(filter, tool, log)
      return network
    } catch (error) {
      if (!(error instanceof CutOffError) || isLast) return loopback(errorMessage(error))
      log.warn({ err: error }, 'networks for Pods cannot be made yet, which is tried again')
    }
  }
}

/** With IPv6 where that can be had; what keeps the machine from it is said, and keeps it from nothing else. */
async function openBridge(
  tool: NetworkTool,
  filter: FilterTool | undefined,
  options: OpenNetworkOptions,
  isLast: boolean,
): Promise<BridgeNetwork> {
  const { nodeId, folder, clock, log, spares, provenIpv6: isProven } = options
  const user = options.userNetwork && 'keeper' in options.userNetwork ? options.userNetwork : undefined
  const path = join(folder, rangesFile)
  const known = readRanges(path)
  const names = new NetworkNames(nodeId)
  const four = await rangesFor(tool, names, nodeId, known, user)
  const open = (ranges: ClusterRanges, withoutIpv6?: string) => {
    // What is not in use today is known tomorrow, for those who have addresses of it.
    writeRanges(path, { ...four, ipv6: ranges.ipv6 ?? known?.ipv6 }, known)
    return BridgeNetwork.open({ nodeId, ranges, tool, clock, log, spares, withoutIpv6, user })
  }
  const reasonOf = (error: unknown) => {
    if (error instanceof CutOffError && !isLast) throw error
    return errorMessage(error)
  }
  const missing =
    options.ipv6 === false
      ? 'it was not asked for'
      : await ipv6Missing({ filter, known: known?.ipv6 !== undefined, isProven }).catch(reasonOf)
  if (missing !== undefined) return open(four, missing)
  try {
    return await open({ ...four, ipv6: await ipv6RangesFor(tool, names, nodeId, known?.ipv6) })
  } catch (error) {
    const reason = reasonOf(error)
    log.warn({ err: error }, 'Pods cannot have IPv6 here')
    return open(four, reason)
  }
}

/** What cannot be tidied is not in the way of most networks. */
async function tidyRules(filter: FilterTool, tool: NetworkTool, log: Logger): Promise<void> {
  try {
    const tables = await removeOwnerlessRules(filter, tool)
    if (tables.length > 0) log.info({ tables }, 'rules of networks that are gone were taken away')
  } catch (error) {
    log.warn({ err: error }, 'rules of networks that are gone cannot be taken away')
  }
}

/** Those of former runs, unless somebody else has taken them meanwhile. */
async function rangesFor(
  tool: NetworkTool,
  names: NetworkNames,
  nodeId: string,
  known: FamilyRanges | undefined,
  user: UserNetwork | undefined,
): Promise<FamilyRanges> {
  const seen = foreignRoutes(await tool.read(['-4', 'route', 'show', 'table', 'all']), names)
  const routes = [...seen, ...(user ? routesOutside(user) : [])]
  if (known && isFree(known, routes)) return { pods: known.pods, services: known.services }
  const chosen = chooseRanges(addressSeed(nodeId), routes)
  if (!chosen) throw new Error('the machine has routes to every private network')
  return chosen
}

async function ipv6RangesFor(
  tool: NetworkTool,
  names: NetworkNames,
  nodeId: string,
  known: FamilyRanges | undefined,
): Promise<FamilyRanges> {
  const all = foreignRoutes(await tool.read(['-6', 'route', 'show', 'table', 'all']), names)
  // Single addresses are skipped: they may be the machine's own in our network, which older kernels list on other
  // devices.
  const routes = all.filter(({ bits }) => bits < 128)
  if (known && isFree(known, routes)) return known
  const chosen = chooseIpv6Ranges(nodeId, routes)
  if (!chosen) throw new Error('the machine has routes to every network that was drawn')
  return chosen
}

/** Our own route to the Services is among the routes, since it is not on the bridge. */
function isFree({ pods, services }: FamilyRanges, routes: readonly AddressRange[]): boolean {
  const others = routes.filter((route) => formatRange(route) !== formatRange(services))
  return !others.some((route) => overlap(route, pods) || overlap(route, services))
}

function writeRanges(path: string, ranges: ClusterRanges, known: ClusterRanges | undefined): void {
  const textsOf = ({ pods, services }: FamilyRanges) => ({ pods: formatRange(pods), services: formatRange(services) })
  const textOf = (some: ClusterRanges) =>
    JSON.stringify({ ...textsOf(some), ...(some.ipv6 && { ipv6: textsOf(some.ipv6) }) })
  if (known && textOf(known) === textOf(ranges)) return
  writeFileSync(`${path}.new`, textOf(ranges))
  renameSync(`${path}.new`, path)
}

function readRanges(path: string): ClusterRanges | undefined {
  try {
    const written = rangesSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
    const four = familyOf(written)
    return four && { ...four, ipv6: written.ipv6 && familyOf(written.ipv6) }
  } catch {
    return undefined
  }
}

function familyOf(written: z.infer<typeof familySchema>): FamilyRanges | undefined {
  const [pods, services] = [parseRange(written.pods), parseRange(written.services)]
  return pods && services ? { pods, services } : undefined
}

function foreignRoutes(said: unknown, names: NetworkNames): AddressRange[] {
  return objectsOf(said).flatMap((route) => {
    const [target, device] = [textOf(route['dst']), textOf(route['dev'])]
    if (target === 'default' || device === names.bridge || names.numberOf(device) !== undefined) return []
    const range = parseRange(target)
    return range ? [range] : []
  })
}
