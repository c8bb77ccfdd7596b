import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type EndpointSlice, serviceNameLabel } from '../../resources/endpoint-slice.ts'
import { type KubernetesObject, type ObjectRef, keyOf, refOf } from '../../resources/kubernetes-object.ts'
import type { Service } from '../../resources/service.ts'
import { ClusterIpListener } from './cluster-ip-listener.ts'
import { type ClusterIpRoute, planClusterIp } from './plan-cluster-ip.ts'

export interface ClusterIpProxyOptions {
  readonly services: ObjectCache<Service>
  readonly slices: ObjectCache<EndpointSlice>
  /** `namespace/name` of Services that have a listener elsewhere. */
  readonly except: ReadonlySet<string>
  /** Whether this machine can listen on an address. */
  readonly isLocal: (address: string) => boolean
  /** Whether the kernel itself forwards connections of a Service to this endpoint. */
  readonly isLedTo?: ((endpoint: string) => boolean) | undefined
  /** Tells the Service's owner why it cannot be reached. */
  event(service: KubernetesObject, type: 'Warning', reason: string, message: string): void
  readonly clock: Clock
  readonly log: Logger
}

const mostListeners = 4_096
const retryMs = 5_000

/** Makes the addresses of Services work on this machine, as kube-proxy does on a node of Kubernetes. */
export class ClusterIpProxy {
  readonly #options: ClusterIpProxyOptions
  readonly #queue: WorkQueue
  readonly #slices = new Map<string, Map<string, EndpointSlice>>()
  /** By Service, then by `address port`. */
  readonly #listeners = new Map<string, Map<string, ClusterIpListener>>()
  readonly #closing = new Set<ClusterIpListener>()
  readonly #problems = new Map<string, string>()
  #count = 0

  constructor(options: ClusterIpProxyOptions) {
    this.#options = options
    const { services, slices, clock, log } = options
    const reconcile = (ref: ObjectRef) => this.#reconcile(ref)
    this.#queue = new WorkQueue({ name: 'cluster-ips', clock, log, concurrency: 4, reconcile })
    for (const slice of slices.list()) this.#follow(slice, false)
    for (const service of services.list()) this.#queue.add(refOf(service))
    services.onChange(({ object }) => this.#queue.add(refOf(object)))
    slices.onChange(({ type, object }) => this.#follow(object, type === 'deleted'))
  }

  /** Runs until aborted; then all connections are closed. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#queue.run(signal)
    } finally {
      for (const listeners of this.#listeners.values()) for (const listener of listeners.values()) listener.destroy()
      for (const listener of this.#closing) listener.destroy()
    }
  }

  #follow(slice: EndpointSlice, gone: boolean): void {
    const name = slice.metadata.labels?.[serviceNameLabel]
    if (name === undefined) return
    const service = { namespace: slice.metadata.namespace, name }
    const key = keyOf(service)
    const group = this.#slices.get(key) ?? new Map<string, EndpointSlice>()
    if (gone) group.delete(slice.metadata.name)
    else group.set(slice.metadata.name, slice)
    if (group.size > 0) this.#slices.set(key, group)
    else this.#slices.delete(key)
    this.#queue.add(service)
  }

  async #reconcile(ref: ObjectRef): Promise<{ requeueAfterMs?: number }> {
    const { services, except, isLocal, isLedTo } = this.#options
    const key = keyOf(ref)
    if (except.has(key)) return {}
    const service = services.get(ref)
    const wanted = new Map(
      planClusterIp(service, [...(this.#slices.get(key)?.values() ?? [])], isLocal, isLedTo).map((route) => [
        placeOf(route),
        route,
      ]),
    )
    const listeners = this.#listeners.get(key) ?? new Map<string, ClusterIpListener>()
    for (const [place, listener] of listeners) {
      if (wanted.has(place)) continue
      this.#retire(listener)
      listeners.delete(place)
    }
    let failed = false
    for (const [place, route] of wanted) {
      const listener = listeners.get(place)
      if (listener) listener.route = route
      else if (!(await this.#open(service, place, route, listeners))) failed = true
    }
    if (listeners.size > 0) this.#listeners.set(key, listeners)
    else this.#listeners.delete(key)
    if (!failed) this.#problems.delete(key)
    return failed ? { requeueAfterMs: retryMs } : {}
  }

  async #open(
    service: Service | undefined,
    place: string,
    route: ClusterIpRoute,
    listeners: Map<string, ClusterIpListener>,
  ): Promise<boolean> {
    const listener = new ClusterIpListener(route, this.#options.clock)
    try {
      if (this.#count >= mostListeners) throw new Error(`more than ${mostListeners} ports of Services are in use`)
      await listener.listen()
      this.#count++
      listeners.set(place, listener)
      return true
    } catch (error) {
      this.#report(service, route, error)
      return false
    }
  }

  /** Closes a listener; its connections continue until they end. */
  #retire(listener: ClusterIpListener): void {
    this.#count--
    this.#closing.add(listener)
    listener.close(() => this.#closing.delete(listener))
  }

  #report(service: Service | undefined, { address, port }: ClusterIpRoute, error: unknown): void {
    if (!service) return
    const key = keyOf(refOf(service))
    const problem = reasonOf(error, port)
    if (this.#problems.get(key) === problem) return
    this.#problems.set(key, problem)
    this.#options.log.warn({ err: error, service: key, address, port }, 'a Service cannot be reached at its address')
    const message = `${address}:${port} cannot be reached: ${problem}`
    this.#options.event(service, 'Warning', 'ClusterIPUnreachable', message)
  }
}

function placeOf({ address, port }: ClusterIpRoute): string {
  return `${address} ${port}`
}

function reasonOf(error: unknown, port: number): string {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  if (code === 'EACCES') {
    return `this user may not listen on port ${port}; use a port from 1024 on, or allow it (net.ipv4.ip_unprivileged_port_start)`
  }
  if (code === 'EADDRINUSE') return 'another program listens there'
  return error instanceof Error ? error.message : String(error)
}
