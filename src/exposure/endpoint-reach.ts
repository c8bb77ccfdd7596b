import { BlockList, isIP } from 'node:net'
import type { ObjectCache } from '../cluster/informer.ts'
import type { Pod } from '../resources/pod.ts'
import type { MayReach, RouteEndpoint } from './service-endpoints.ts'

export interface EndpointReachOptions {
  readonly pods: ObjectCache<Pod>
  /** Addresses and ranges (`10.65.0.0/19`) of the machine and of all clusters on it. Asked only for what is no Pod. */
  readonly closed: () => readonly string[]
  /** What the platform itself has put behind a Service of this namespace. */
  readonly isOwn: (namespace: string, endpoint: RouteEndpoint) => boolean
}

/** What is nobody's address outside of a machine: the machine itself, its links, everybody, nobody. */
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
 * Where the edge may connect to for a Service. Slices can be written by hand, and what is in them is connected to from
 * this machine: a Service leads to Pods of its own namespace, or out of this machine and of every cluster on it. On an
 * embedded cluster most else is refused when it is written; this holds for every cluster, and for what was there
 * before.
 */
export class EndpointReach {
  readonly #options: EndpointReachOptions
  readonly #listeners = new Set<(addresses: readonly string[]) => void>()
  /** How many Pods of the namespace have the address, by `namespace address`. */
  readonly #pods = new Map<string, number>()
  readonly #unsubscribe: () => void
  readonly #nowhere = blockListOf(nowhere)
  /** What was closed when it was last asked for. */
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
   * Whether what is closed is no longer what it was when it was last asked for. Nobody tells when the machine gets an
   * address or a cluster, so it is looked up; where all endpoints are Pods it was never asked for, and costs nothing.
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
