import type { ObjectCache, ObjectChange } from '../../cluster/informer.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { EndpointSlice } from '../../resources/endpoint-slice.ts'
import { type KubernetesObject, keyOf, refOf } from '../../resources/kubernetes-object.ts'
import type { Namespace } from '../../resources/namespace.ts'
import { type Pod, isPodFinished, isPodTerminating } from '../../resources/pod.ts'
import type { Service } from '../../resources/service.ts'
import { EndpointGroups } from './endpoint-groups.ts'
import { addressBytes, addressKey } from '../messages/ip-address.ts'
import { type NamedEndpoint, type NamedService, namedEndpoints, namedService } from './named-service.ts'

export interface ClusterCaches {
  readonly services: ObjectCache<Service>
  readonly slices: ObjectCache<EndpointSlice>
  readonly pods: ObjectCache<Pod>
  readonly namespaces: ObjectCache<Namespace>
}

/**
 * The cluster's names, indexed by name and by address. Follows the cluster object by object and never searches all of
 * them.
 */
export class ClusterIndex {
  readonly #caches: ClusterCaches
  readonly #clock: Clock
  readonly #services = new Map<string, NamedService>()
  /** By cluster IP. There is one Service for each, except for a moment when one takes over another's. */
  readonly #byClusterIp = new Map<string, Map<string, NamedService>>()
  readonly #endpoints = new EndpointGroups()
  /** The Service that a slice was last stored under. */
  readonly #sliceOwners = new Map<string, string>()
  /** By address, then by the key of the Pod: its namespace. */
  readonly #pods = new Map<string, Map<string, string>>()
  readonly #podAddresses = new Map<string, readonly string[]>()
  readonly #stops: ReadonlyArray<() => void>
  #changedAt: number

  constructor(caches: ClusterCaches, clock: Clock) {
    this.#caches = caches
    this.#clock = clock
    this.#changedAt = clock.now()
    this.#stops = [
      this.#follow(caches.services, (key, service) => this.#putService(key, service)),
      this.#follow(caches.slices, (key, slice) => this.#putSlice(key, slice)),
      this.#follow(caches.pods, (key, pod) => this.#putPod(key, pod)),
    ]
  }

  /** Stops following the cluster. */
  close(): void {
    for (const stop of this.#stops) stop()
  }

  /** False until everything has been seen: before that, what is not found may still exist. */
  get synced(): boolean {
    const { services, slices, pods, namespaces } = this.#caches
    return services.synced && slices.synced && pods.synced && namespaces.synced
  }

  /** The time of the last change in seconds, so that it increases with changes. */
  get serial(): number {
    return Math.floor(this.#changedAt / 1000)
  }

  hasNamespace(name: string): boolean {
    return this.#caches.namespaces.get({ name }) !== undefined
  }

  service(namespace: string, name: string): NamedService | undefined {
    return this.#services.get(keyOf({ namespace, name }))
  }

  serviceAt(address: Buffer): NamedService | undefined {
    const [service] = this.#byClusterIp.get(addressKey(address))?.values() ?? []
    return service
  }

  endpointsOf({ namespace, name, publishNotReady }: NamedService, label?: string): NamedEndpoint[] {
    const key = keyOf({ namespace, name })
    const all = label === undefined ? this.#endpoints.of(key) : this.#endpoints.labelled(key, label)
    return [...all].filter(({ ready }) => ready || publishNotReady)
  }

  endpointsAt(address: Buffer): NamedEndpoint[] {
    return [...this.#endpoints.at(addressKey(address))].filter(
      ({ ready, namespace, service }) => ready || this.service(namespace, service)?.publishNotReady,
    )
  }

  hasPodAt(namespace: string, address: string): boolean {
    for (const one of this.#pods.get(address)?.values() ?? []) if (one === namespace) return true
    return false
  }

  #follow<T extends KubernetesObject>(
    cache: ObjectCache<T>,
    put: (key: string, object: T | undefined) => void,
  ): () => void {
    for (const object of cache.list()) put(keyOf(refOf(object)), object)
    return cache.onChange(({ type, object }: ObjectChange<T>) => {
      this.#changedAt = this.#clock.now()
      put(keyOf(refOf(object)), type === 'deleted' ? undefined : object)
    })
  }

  #putService(key: string, service: Service | undefined): void {
    for (const address of this.#services.get(key)?.addresses ?? [])
      takeFrom(this.#byClusterIp, addressKey(address), key)
    if (!service) return void this.#services.delete(key)
    const named = namedService(service)
    this.#services.set(key, named)
    for (const address of named.addresses) putUnder(this.#byClusterIp, addressKey(address), key, named)
  }

  #putSlice(key: string, slice: EndpointSlice | undefined): void {
    const before = this.#sliceOwners.get(key)
    const endpoints = slice && namedEndpoints(slice)
    const [first] = endpoints ?? []
    const owner = first && keyOf({ namespace: first.namespace, name: first.service })
    // A slice can be relabelled to belong to another Service.
    if (before !== undefined && before !== owner) this.#endpoints.put(before, key, [])
    if (owner === undefined || !endpoints) return void this.#sliceOwners.delete(key)
    this.#sliceOwners.set(key, owner)
    this.#endpoints.put(owner, key, endpoints)
  }

  #putPod(key: string, pod: Pod | undefined): void {
    for (const address of this.#podAddresses.get(key) ?? []) takeFrom(this.#pods, address, key)
    // The address of a Pod that has ended may belong to another by now.
    const there = pod && !isPodFinished(pod) && !isPodTerminating(pod) ? addressesOf(pod) : []
    if (there.length === 0) return void this.#podAddresses.delete(key)
    this.#podAddresses.set(key, there)
    for (const address of there) putUnder(this.#pods, address, key, pod?.metadata.namespace ?? '')
  }
}

function addressesOf({ status }: Pod): string[] {
  const texts = new Set([status?.podIP ?? '', ...(status?.podIPs ?? []).map(({ ip }) => ip)])
  return [...texts].flatMap((text) => {
    const bytes = addressBytes(text)
    return bytes ? [addressKey(bytes)] : []
  })
}

function putUnder<T>(groups: Map<string, Map<string, T>>, key: string, name: string, value: T): void {
  const group = groups.get(key)
  if (group) group.set(name, value)
  else groups.set(key, new Map([[name, value]]))
}

function takeFrom<T>(groups: Map<string, Map<string, T>>, key: string, name: string): void {
  const group = groups.get(key)
  if (group?.delete(name) && group.size === 0) groups.delete(key)
}
