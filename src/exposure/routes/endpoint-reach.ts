import { BlockList, isIP } from 'node:net'
import type { ObjectCache } from '../../cluster/informer.ts'
import type { Pod } from '../../resources/pod.ts'
import type { MayReach, RouteEndpoint } from './service-endpoints.ts'

export interface EndpointReachOptions {
  readonly pods: ObjectCache<Pod>
  /**
   * Addresses and ranges (`10.65.0.0/19`) of the machine and all clusters on it. Called only for endpoints that are not
   * Pods.
   */
  readonly closed: () => readonly string[]
  /** Whether the platform itself made this endpoint of a Service in the namespace. */
  readonly isOwn: (namespace: string, endpoint: RouteEndpoint) => boolean
}

/** Addresses that never lead out of a machine: loopback, link-local, multicast, unspecified and reserved ones. */
const nowhere = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  '::1/128',
  'fe80::/10',
  'ff00::/8',
]

/**
 * Decides where the edge may connect to for a Service. Users can write EndpointSlices by hand, and the edge would
 * connect to any address in them from this machine. So a Service may only lead to Pods of its own namespace, or to
 * addresses outside this machine and its clusters. The embedded API server refuses most other addresses already; this
 * check also covers attached clusters and slices that were written earlier.
 */
export class EndpointReach {
  readonly #options: EndpointReachOptions
  readonly #listeners = new Set<(addresses: readonly string[]) => void>()
  /** How many Pods of the namespace have the address, by `namespace address`. */
  readonly #pods = new Map<string, number>()
  readonly #unsubscribe: () => void
  readonly #nowhere = blockListOf(nowhere)
  /** The closed addresses when they were last looked up. */
  #closed: string | undefined

  constructor(options: EndpointReachOptions) {
    this.#options = options
    for (const pod of options.pods.list()) this.#count(keysOf(pod), 1)
    this.#unsubscribe = options.pods.onChange(({ type, object, previous }) => {
      const [before, now] = [previous ? keysOf(previous) : [], type === 'deleted' ? [] : keysOf(object)]
      if (before.join() === now.join()) return
      this.#count(before, -1)
      this.#count(now, 1)
      const addresses = [...before, ...now].map((key) => key.slice(key.indexOf(' ') + 1))
      for (const listener of this.#listeners) listener(addresses)
    })
  }

  readonly mayReach: MayReach = (namespace, endpoint) => {
    const { host } = endpoint
    if (this.#pods.has(`${namespace} ${host}`) || this.#options.isOwn(namespace, endpoint)) return true
    const family = familyOf(host)
    if (family === undefined || this.#nowhere.check(host, family)) return false
    const closed = this.#options.closed()
    this.#closed ??= closed.join()
    return !blockListOf(closed).check(host, family)
  }

  /**
   * Whether the closed addresses have changed since they were last looked up. There is no event when the machine gets
   * an address or a cluster, so they are looked up again, but not if all endpoints were Pods so far.
   */
  hasNewLimits(): boolean {
    if (this.#closed === undefined) return false
    const closed = this.#options.closed().join()
    const isNew = closed !== this.#closed
    this.#closed = closed
    return isNew
  }

  /** Called with the addresses that a Pod has got or lost. */
  onChange(listener: (addresses: readonly string[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    this.#unsubscribe()
  }

  #count(keys: readonly string[], by: number): void {
    for (const key of keys) {
      const count = (this.#pods.get(key) ?? 0) + by
      if (count > 0) this.#pods.set(key, count)
      else this.#pods.delete(key)
    }
  }
}

function keysOf({ metadata, status }: Pod): readonly string[] {
  const addresses = new Set([status?.podIP ?? '', ...(status?.podIPs ?? []).map(({ ip }) => ip)])
  addresses.delete('')
  return [...addresses].map((address) => `${metadata.namespace ?? 'default'} ${address}`)
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address)
  if (version === 0) return undefined
  return version === 4 ? 'ipv4' : 'ipv6'
}

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', bits] = range.split('/')
    const family = familyOf(network)
    if (family === undefined) continue
    if (bits === undefined) list.addAddress(network, family)
    else list.addSubnet(network, Number(bits), family)
  }
  return list
}
