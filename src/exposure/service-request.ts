import { SluiceError } from '../foundation/errors.ts'
import { type Exchange, type ForwardEnd, ForwardError, type ForwardResult } from '../relay/exchange.ts'
import { pickUpstream, upstreamKey } from './pick-upstream.ts'
import type { ExposureRoute } from './plan-host.ts'
import type { RouteEndpoint } from './service-endpoints.ts'

const maxAttempts = 3
/** Methods that may be sent again though the first server may have acted on them (RFC 9110 9.2.2). */
const repeatable = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** How many requests each endpoint has now, and whose turn it is among those that are equally busy. */
export class ServiceLoads {
  readonly #inFlight = new Map<string, number>()
  #turn = 0

  /** One that has not failed this request yet. */
  pick(endpoints: readonly RouteEndpoint[], failed: ReadonlySet<string>): RouteEndpoint | undefined {
    return pickUpstream(endpoints, this.#inFlight, this.#turn++, failed)
  }

  take(key: string): void {
    this.#inFlight.set(key, (this.#inFlight.get(key) ?? 0) + 1)
  }

  release(key: string): void {
    const left = (this.#inFlight.get(key) ?? 1) - 1
    if (left > 0) this.#inFlight.set(key, left)
    else this.#inFlight.delete(key)
  }
}

const none: ReadonlySet<string> = new Set()

interface ServiceRequestEnd {
  onAnswered(status: number): void
  onFailed(error: unknown): void
}

/** A request on its way to a Service: at one endpoint after the other, until one of them answers. */
export class ServiceRequest implements ForwardEnd {
  readonly #exchange: Exchange
  readonly #route: ExposureRoute
  readonly #loads: ServiceLoads
  readonly #end: ServiceRequestEnd
  /** The endpoints that did not answer. */
  #failed = none
  #attempts = 0
  #key = ''

  constructor(exchange: Exchange, route: ExposureRoute, loads: ServiceLoads, end: ServiceRequestEnd) {
    this.#exchange = exchange
    this.#route = route
    this.#loads = loads
    this.#end = end
  }

  try(): void {
    this.#attempts++
    const { endpoints, host } = this.#route
    const upstream = this.#loads.pick(endpoints, this.#failed)
    if (!upstream) return this.#end.onFailed(new SluiceError('service_without_endpoints', { host }))
    this.#key = upstreamKey(upstream)
    this.#loads.take(this.#key)
    this.#exchange.forward(upstream, {}, this)
  }

  onDelivered({ status }: ForwardResult): void {
    this.#loads.release(this.#key)
    this.#end.onAnswered(status)
  }

  onNotDelivered(error: Error): void {
    this.#loads.release(this.#key)
    if (!(error instanceof ForwardError) || this.#exchange.signal.aborted) return this.#end.onFailed(error)
    this.#failed = new Set([...this.#failed, this.#key])
    const untouched = error.phase === 'connect' || repeatable.has(this.#exchange.head.method)
    const another = this.#failed.size < this.#route.endpoints.length
    if (error.retryable && untouched && another && this.#attempts < maxAttempts) return this.try()
    this.#end.onFailed(new SluiceError('bad_gateway', { reason: error.message }, { cause: error }))
  }
}
