import { apiVersionOf } from '../../resources/kind.ts'
import { type KubernetesObject, timestamp } from '../../resources/kubernetes-object.ts'
import { nodeKind } from '../../resources/node.ts'
import { podKind } from '../../resources/pod.ts'
import {
  type NodeMetrics,
  type PodMetrics,
  type ResourceUsage,
  nodeMetricsKind,
  podMetricsKind,
} from '../../resources/resource-metrics.ts'
import { StatusError, notFound } from '../../resources/status-error.ts'
import { ObjectView } from '../answers/object-view.ts'
import { chooseRepresentation } from '../answers/representation.ts'
import type { ClusterApi } from '../cluster-api.ts'
import { type ResourceRequest, verbOf } from '../http/resource-requests.ts'
import type { NodeUsage, PodAccess, Usage } from '../pods/pod-access.ts'
import { parseFieldSelector } from '../reading/field-selector.ts'
import { parseLabelSelector } from '../reading/label-selector.ts'

type Container = NodeUsage['containers'][number]

/** Answers `kubectl top`: what Pods and nodes use now, in the form of Kubernetes' metrics server. */
export class MeasuredRequests {
  readonly #api: ClusterApi
  readonly #podAccess: PodAccess

  constructor(api: ClusterApi, podAccess: PodAccess) {
    this.#api = api
    this.#podAccess = podAccess
  }

  async handle(request: ResourceRequest): Promise<void> {
    const { exchange, target, query } = request
    const verb = verbOf(exchange.request.method ?? '', target, query)
    if ((verb !== 'get' && verb !== 'list') || target.subresource !== undefined) {
      throw new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource')
    }
    const items = await this.#measure(request)
    const representation = chooseRepresentation(exchange.request.headers.accept)
    const view = new ObjectView(target.kind, representation, query, () => this.#api.clock.now())
    if (verb === 'list') return exchange.sendList(200, view.list({ items, resourceVersion: '' }))
    const [only] = items
    if (!only) throw notFound(target.kind, target.name ?? '')
    exchange.sendObject(200, view.one(only))
  }

  async #measure(request: ResourceRequest): Promise<readonly KubernetesObject[]> {
    const isAboutPods = request.target.kind.plural === podMetricsKind.plural
    // Who asks for one that is not there is told before anything is measured.
    const asked = await this.#askedFor(request, isAboutPods ? podKind : nodeKind)
    if (!this.#podAccess.usage) throw new StatusError('ServiceUnavailable', 'this cluster has no node that measures')
    const usage = await this.#podAccess.usage()
    const byPod = Map.groupBy(usage.containers, ({ podUid }) => podUid)
    if (isAboutPods) return asked.flatMap((pod) => podMetrics(pod, usage, byPod.get(pod.metadata.uid ?? '')))
    const { items: pods } = await this.#api.listInTurns(podKind, {}, request.exchange.ticket)
    const ofNode = (name: string) =>
      pods.filter((pod) => nodeNameOf(pod) === name).flatMap(({ metadata }) => byPod.get(metadata.uid ?? '') ?? [])
    // Beside other nodes of this machine, or with only a share of it, a node uses what its Pods use.
    const machine = this.#api.list(nodeKind).items.length === 1 ? usage.machine : undefined
    return asked.map((node) => nodeMetrics(node, usage, machine ?? sumOf(ofNode(node.metadata.name))))
  }

  async #askedFor({ target, query, exchange }: ResourceRequest, kind: typeof podKind | typeof nodeKind) {
    const { namespace, name } = target
    if (name !== undefined) {
      const found = this.#api.find(kind, { namespace, name })
      if (!found) throw notFound(target.kind, name)
      return [found]
    }
    const labels = parseLabelSelector(query.get('labelSelector') ?? '')
    const fields = parseFieldSelector(kind, query.get('fieldSelector') ?? '')
    return (await this.#api.listInTurns(kind, { namespace, labels, fields }, exchange.ticket)).items
  }
}

/** A Pod of which nothing runs has nothing to tell. */
function podMetrics(
  { metadata: { name, namespace, labels } }: KubernetesObject,
  usage: NodeUsage,
  containers: readonly Container[] | undefined,
): PodMetrics[] {
  if (!containers) return []
  return [
    {
      kind: 'PodMetrics',
      apiVersion: apiVersionOf(podMetricsKind),
      metadata: { name, namespace, ...(labels && { labels }), creationTimestamp: timestamp(usage.endedAt) },
      ...whenMeasured(usage),
      containers: containers.map((container) => ({ name: container.container, usage: quantitiesOf(container) })),
    },
  ]
}

function nodeMetrics({ metadata: { name, labels } }: KubernetesObject, usage: NodeUsage, own: Usage): NodeMetrics {
  return {
    kind: 'NodeMetrics',
    apiVersion: apiVersionOf(nodeMetricsKind),
    metadata: { name, ...(labels && { labels }), creationTimestamp: timestamp(usage.endedAt) },
    ...whenMeasured(usage),
    usage: quantitiesOf(own),
  }
}

function whenMeasured({ endedAt, windowMs }: NodeUsage): { readonly timestamp: string; readonly window: string } {
  return { timestamp: timestamp(endedAt), window: `${windowMs / 1000}s` }
}

function sumOf(containers: readonly Usage[]): Usage {
  return containers.reduce(
    (sum, { cpus, memoryBytes }) => ({ cpus: sum.cpus + cpus, memoryBytes: sum.memoryBytes + memoryBytes }),
    { cpus: 0, memoryBytes: 0 },
  )
}

function quantitiesOf({ cpus, memoryBytes }: Usage): ResourceUsage {
  return { cpu: `${Math.round(cpus * 1e9)}n`, memory: `${Math.round(memoryBytes / 1024)}Ki` }
}

function nodeNameOf({ spec }: KubernetesObject): unknown {
  return spec !== undefined && typeof spec === 'object' && spec !== null && 'nodeName' in spec
    ? spec.nodeName
    : undefined
}
