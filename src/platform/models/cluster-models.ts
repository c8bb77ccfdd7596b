import { systemClock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import { gatewayNamespace, modelLabel } from '../../resources/model-labels.ts'
import { isPodOf } from '../../resources/model-ownership.ts'
import { type Model, modelKind } from '../../resources/model.ts'
import { type Node, nodeKind } from '../../resources/node.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { type PodMetrics, podMetricsKind } from '../../resources/resource-metrics.ts'
import { StatusError, isStatusError } from '../../resources/status-error.ts'
import { CommandedCluster, type KubeconfigChoice } from '../commanded-cluster.ts'

const namespace = gatewayNamespace
/** Between two looks, where a server ends watches at once. */
const lookAgainMs = 250

/** Which part of a container's log, and whether what is written from now on, too. */
export interface LogQuestion {
  readonly pod: string
  readonly container: string | undefined
  readonly follow: boolean
  readonly previous: boolean
  readonly tail: number | undefined
}

/** The Models of a cluster and their Pods, as the commands see them: through the cluster's own API. */
export class ClusterModels {
  readonly #cluster: CommandedCluster

  private constructor(cluster: CommandedCluster) {
    this.#cluster = cluster
  }

  static readonly connect = async (kubeconfig: KubeconfigChoice): Promise<ClusterModels> =>
    new ClusterModels(await CommandedCluster.connect(kubeconfig))

  async list(): Promise<readonly Model[]> {
    return (await this.#cluster.ask((client) => client.list(modelKind, { namespace }))).items
  }

  /** Undefined when there is no such Model. */
  get(name: string): Promise<Model | undefined> {
    return this.#cluster.ask((client) => client.get(modelKind, { namespace, name }))
  }

  async find(name: string): Promise<Model> {
    const model = await this.get(name)
    if (!model) throw new SluiceError('model_not_found', { model: name })
    return model
  }

  /** The Pods of one Model, or of all. */
  async pods(model?: Model): Promise<readonly Pod[]> {
    const labels = model && { [modelLabel]: model.metadata.name }
    const { items } = await this.#cluster.ask((client) => client.list(podKind, { namespace, labels }))
    return items.filter((pod) => (model ? isPodOf(model, pod) : pod.metadata.labels?.[modelLabel] !== undefined))
  }

  pod(name: string): Promise<Pod | undefined> {
    return this.#cluster.ask((client) => client.get(podKind, { namespace, name }))
  }

  /** What the Pods of Models use; nothing where nobody measures it, or where it may not be read. */
  async measured(): Promise<readonly PodMetrics[]> {
    try {
      return (await this.#cluster.kubernetes.list(podMetricsKind, { namespace })).items
    } catch (error) {
      if (error instanceof StatusError) return []
      throw this.#cluster.explained(error)
    }
  }

  async nodes(): Promise<readonly Node[]> {
    return (await this.#cluster.ask((client) => client.list(nodeKind))).items
  }

  create(
    name: string,
    spec: Partial<Model['spec']>,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<Model> {
    return this.#cluster.ask((client) =>
      client.create(modelKind, { metadata: { name, namespace, annotations: { ...annotations } }, spec }),
    )
  }

  async delete({ metadata: { name, uid } }: Model): Promise<void> {
    await this.#cluster.ask((client) => client.delete(modelKind, { namespace, name }, { uid }))
  }

  async scale(name: string, replicas: number): Promise<void> {
    await this.#cluster.ask((client) => client.scale(modelKind, { namespace, name }, replicas))
  }

  /** A Model as it is and as it becomes; undefined once it is gone. Ends when the signal is aborted. */
  async *follow(name: string, signal: AbortSignal): AsyncGenerator<Model | undefined> {
    while (!signal.aborted) {
      try {
        yield* this.#followOnce(name, signal)
      } catch (error) {
        if (signal.aborted) return
        // What happened meanwhile is too long ago to be told: the next look shows it.
        if (!isStatusError(error, 'Expired')) throw this.#cluster.explained(error)
      }
      await systemClock.sleep(lookAgainMs, signal).catch(() => {})
    }
  }

  /** The bytes of a Pod's log as they come. Throws `StatusError` when there is none. */
  log(question: LogQuestion, signal: AbortSignal): AsyncIterable<Buffer> {
    const { pod, container, follow, previous, tail } = question
    const ref = { namespace, name: pod }
    return this.#reached(this.#cluster.kubernetes.log(ref, { container, follow, previous, tail }, signal))
  }

  close(): void {
    this.#cluster.close()
  }

  async *#followOnce(name: string, signal: AbortSignal): AsyncGenerator<Model | undefined> {
    const { kubernetes } = this.#cluster
    const selection = { namespace, fields: { 'metadata.name': name } }
    const { items, resourceVersion } = await kubernetes.list(modelKind, selection, signal)
    yield items[0]
    for await (const event of kubernetes.watch(modelKind, { ...selection, resourceVersion }, signal)) {
      if (event.type !== 'BOOKMARK') yield event.type === 'DELETED' ? undefined : event.object
    }
  }

  /** Refusals are for those who asked; that nobody answers means the same for all. */
  async *#reached(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    try {
      yield* bytes
    } catch (error) {
      throw error instanceof StatusError ? error : this.#cluster.explained(error)
    }
  }
}
