import { randomInt } from 'node:crypto'
import { endpointSliceKind, serviceNameLabel } from '../../resources/endpoint-slice.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { serviceKind } from '../../resources/service.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { ClusterApi } from '../cluster-api.ts'
import { parseLabelSelector } from '../reading/label-selector.ts'
import type { ResourceRequest } from '../http/resource-requests.ts'
import type { WatchSlots } from '../flow-control/watch-slots.ts'
import { proxyExchange } from './proxied-exchange.ts'
import { parseProxyName } from './proxy-name.ts'
import { type ProxyPlace, placeBehindService, placeInPod } from './proxy-place.ts'

const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])

/** `pods/proxy` and `services/proxy`: HTTP to a Pod through this server. */
export class Proxies {
  readonly #api: ClusterApi
  readonly #slots: WatchSlots

  constructor(api: ClusterApi, slots: WatchSlots) {
    this.#api = api
    this.#slots = slots
  }

  pod(request: ResourceRequest): Promise<void> {
    const { namespace, name = '' } = request.target
    return this.#proxy(request, () => {
      const wanted = parseProxyName('pod', name)
      return placeInPod(podKind.schema.parse(this.#api.get(podKind, { namespace, name: wanted.name })), wanted)
    })
  }

  service(request: ResourceRequest): Promise<void> {
    const { namespace, name = '' } = request.target
    return this.#proxy(request, () => {
      const wanted = parseProxyName('service', name)
      const service = serviceKind.schema.parse(this.#api.get(serviceKind, { namespace, name: wanted.name }))
      const labels = parseLabelSelector(`${serviceNameLabel}=${wanted.name}`)
      const { items } = this.#api.list(endpointSliceKind, { namespace, labels })
      const slices = items.map((slice) => endpointSliceKind.schema.parse(slice))
      const pick = (count: number) => (count > 1 ? randomInt(count) : 0)
      return placeBehindService(service, slices, wanted, (pod) => this.#findPod(namespace, pod), pick)
    })
  }

  #findPod(namespace: string | undefined, name: string): Pod | undefined {
    try {
      return podKind.schema.parse(this.#api.get(podKind, { namespace, name }))
    } catch (error) {
      if (error instanceof StatusError && error.reason === 'NotFound') return undefined
      throw error
    }
  }

  async #proxy({ exchange, user }: ResourceRequest, find: () => ProxyPlace): Promise<void> {
    if (!methods.has(exchange.request.method ?? '')) {
      throw new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource')
    }
    const { base, path, query } = splitProxyUrl(exchange.request.url ?? '')
    const place = find()
    // Relative links of a page only work below its address, so it must end with a slash.
    if (path === '' && (exchange.request.method === 'GET' || exchange.request.method === 'HEAD')) {
      exchange.response.writeHead(301, { Location: `${base}/${query}`, 'Content-Length': 0 })
      exchange.response.end()
      return
    }
    const release = this.#slots.take(user.name)
    try {
      await proxyExchange({ exchange, place, base, path: `${path === '' ? '/' : path}${query}` }, this.#api.clock)
    } finally {
      release()
    }
  }
}

/**
 * Splits a URL at `/…/<plural>/<name>/proxy`; the rest is for the other side. The path was checked before, so nothing
 * in it climbs.
 */
export function splitProxyUrl(url: string): { readonly base: string; readonly path: string; readonly query: string } {
  const question = url.indexOf('?')
  const whole = question < 0 ? url : url.slice(0, question)
  const base = /^(?:\/vks\/[^/]+)?\/api\/v1\/namespaces\/[^/]+\/[^/]+\/[^/]+\/proxy/.exec(whole)?.[0] ?? whole
  return { base, path: whole.slice(base.length), query: question < 0 ? '' : url.slice(question) }
}
