import { readFileSync, readdirSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { z } from 'zod'
import { errorMessage } from '../../../foundation/errors.ts'
import { type AddressRange, parseRange } from '../../../resources/address-range.ts'
import { isAlive, readProcess, signalProcess } from '../../processes/process-identity.ts'
import { NetworkNames } from '../network-names.ts'
import { objectsOf, textOf } from '../spec-text.ts'

/**
 * An ordinary user's `sluice up` runs in a network namespace that it may change, as root may change the machine's:
 * Pods get theirs from there. `user-network.pl` makes it before this program is started in it.
 */
export interface UserNetwork {
  /** The process that keeps it while Pods are in it. */
  readonly keeper: number
  /** Descriptors of sockets that listen in the machine's own network, by what they are for. */
  readonly listeners: Readonly<Record<string, readonly number[]>>
  /** For which there is none, with the name of the error. */
  readonly refused: Readonly<Record<string, string>>
  readonly folder: string
}

export type UserNetworkFacts = UserNetwork | { readonly reason: string }

export const userNetworkVariable = 'SLUICE_USER_NETWORK'
/** In its folder: the routes of the machine, which are not seen from there. */
export const outsideRoutesFile = 'routes.json'

const schema = z.union([
  z.object({ reason: z.string() }),
  z.object({
    keeper: z.number().int().positive(),
    listeners: z.record(z.string(), z.array(z.number().int().min(3))),
    refused: z.record(z.string(), z.string()),
  }),
])

/** What this program was told when it was started; `undefined` where it was not started that way. */
export function readUserNetwork(environment: NodeJS.ProcessEnv, folder: string): UserNetworkFacts | undefined {
  const told = environment[userNetworkVariable]
  if (told === undefined) return undefined
  try {
    const facts = schema.parse(JSON.parse(told))
    return 'reason' in facts ? facts : { ...facts, folder }
  } catch (error) {
    return { reason: `${userNetworkVariable} cannot be read: ${errorMessage(error)}` }
  }
}

/** Where the machine leads to: Pods are to have other addresses, or they could not get there. */
export function routesOutside(network: UserNetwork): AddressRange[] {
  return readRoutes(network).flatMap((route) => parseRange(textOf(route['dst'])) ?? [])
}

/** The machine's own addresses by their devices, as they were at the start: inside, there are only others. */
export function addressesOutside(network: UserNetwork): Record<string, Array<{ address: string; internal: boolean }>> {
  const own = readRoutes(network).filter((route) => route['type'] === 'local' && isIP(textOf(route['dst'])) > 0)
  const devices = Map.groupBy(own, (route) => textOf(route['dev']))
  const addressesOf = (routes: typeof own, internal: boolean) =>
    routes.map((route) => ({ address: textOf(route['dst']), internal }))
  return Object.fromEntries([...devices].map(([device, routes]) => [device, addressesOf(routes, device === 'lo')]))
}

function readRoutes({ folder }: UserNetwork): ReturnType<typeof objectsOf> {
  try {
    return objectsOf(JSON.parse(readFileSync(join(folder, outsideRoutesFile), 'utf8')))
  } catch {
    return []
  }
}

/** Lets it go once this program has ended, unless Pods are still in it. */
export function leaveUserNetwork(facts: UserNetworkFacts | undefined): void {
  if (!facts || 'reason' in facts || hasNetworksOfPods()) return
  const there = readProcess(facts.keeper)
  if (there && isAlive(there)) signalProcess(there, 'SIGTERM')
}

function hasNetworksOfPods(): boolean {
  try {
    return readdirSync(NetworkNames.namespaceFolder).length > 0
  } catch {
    return false
  }
}
