import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type ConfigMap, configMapKind } from '../../resources/config-map.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import type { Namespace } from '../../resources/namespace.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { isEnding } from './default-service-accounts.ts'

export interface RootCertificatesOptions {
  readonly client: ClusterClient
  /** PEM of the authority that signed the API server's certificate. */
  readonly certificate: string
  readonly namespaces: ObjectCache<Namespace>
  readonly configMaps: ObjectCache<ConfigMap>
  readonly clock: Clock
  readonly log: Logger
}

const mapName = 'kube-root-ca.crt'
const annotations = {
  'kubernetes.io/description':
    'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.',
}

/** Gives every namespace the certificate by which its Pods verify the API server. */
export class RootCertificates {
  readonly #options: RootCertificatesOptions
  readonly #queue: WorkQueue

  constructor(options: RootCertificatesOptions) {
    this.#options = options
    const { clock, log, namespaces, configMaps } = options
    const reconcile = (ref: ObjectRef, signal: AbortSignal) => this.#reconcile(ref, signal)
    this.#queue = new WorkQueue({ name: 'root-certificates', clock, log, concurrency: 2, reconcile })
    namespaces.onChange(({ type, object }) => {
      if (type !== 'deleted') this.#queue.add(refOf(object))
    })
    configMaps.onChange(({ object }) => {
      const { name, namespace } = object.metadata
      if (name === mapName && namespace !== undefined) this.#queue.add({ name: namespace })
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  async #reconcile({ name }: ObjectRef, signal: AbortSignal): Promise<void> {
    const { client, namespaces, configMaps, certificate } = this.#options
    const namespace = namespaces.get({ name })
    if (!namespace || namespace.metadata.deletionTimestamp !== undefined) return
    const current = configMaps.get({ namespace: name, name: mapName })
    const data = { 'ca.crt': certificate }
    if (current?.data?.['ca.crt'] === certificate && Object.keys(current.data).length === 1) return
    try {
      if (current) await client.update(configMapKind, { ...current, data }, signal)
      else
        await client.create(configMapKind, { metadata: { name: mapName, namespace: name, annotations }, data }, signal)
    } catch (error) {
      // Changed meanwhile, which comes back through the cache; or the namespace is being deleted.
      if (!isStatusError(error, 'AlreadyExists', 'NotFound', 'Conflict') && !isEnding(error)) throw error
    }
  }
}
