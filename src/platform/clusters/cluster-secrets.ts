import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { type Cluster, clusterKind } from '../../resources/cluster.ts'
import { apiVersionOf } from '../../resources/kind.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { type Secret, secretKind } from '../../resources/secret.ts'
import { kubeconfigFault } from './attached/attached-kubeconfig.ts'
import { ClusterFault } from './cluster-fault.ts'

const key = 'kubeconfig'
const longestKubeconfig = 256 * 1024

/**
 * The Secrets in the home cluster that hold kubeconfigs: of embedded clusters, written here, and of attached clusters,
 * written by users.
 */
export class ClusterSecrets {
  readonly #client: ClusterClient

  constructor(client: ClusterClient) {
    this.#client = client
  }

  refOf({ metadata }: Cluster): { readonly namespace: string; readonly name: string } {
    return { namespace: gatewayNamespace, name: `${metadata.name}-kubeconfig` }
  }

  /**
   * Keeps the kubeconfig of an embedded cluster in its Secret. A Secret that belongs to something else is left alone.
   */
  async keep(cluster: Cluster, kubeconfig: string, signal: AbortSignal): Promise<void> {
    const ref = this.refOf(cluster)
    const data = { [key]: Buffer.from(kubeconfig).toString('base64') }
    const there = await this.#client.get(secretKind, ref, signal)
    if (!there) {
      const { name, uid = '' } = cluster.metadata
      const owner = { apiVersion: apiVersionOf(clusterKind), kind: clusterKind.kind, name, uid, controller: true }
      await this.#client.create(secretKind, { metadata: { ...ref, ownerReferences: [owner] }, data }, signal)
    } else if (!isOwnedBy(there, cluster)) {
      const message = `the Secret ${ref.namespace}/${ref.name} is somebody else's; remove it, so that the kubeconfig can be there`
      throw new ClusterFault('KubeconfigSecretTaken', message)
    } else if (there.data?.[key] !== data[key]) await this.#client.patch(secretKind, ref, { data }, signal)
  }

  async remove(cluster: Cluster, signal: AbortSignal): Promise<void> {
    const ref = this.refOf(cluster)
    const there = await this.#client.get(secretKind, ref, signal)
    if (there && isOwnedBy(there, cluster)) await this.#client.delete(secretKind, ref, {}, signal)
  }

  /** The kubeconfig of an attached cluster, from its Secret. */
  async read({ spec }: Cluster, signal: AbortSignal): Promise<string> {
    const { namespace = gatewayNamespace, name = '', key: within = key } = spec.kubeconfigSecret ?? {}
    const secret = await this.#client.get(secretKind, { namespace, name }, signal)
    const where = `the Secret ${namespace}/${name}`
    if (!secret) throw new ClusterFault('KubeconfigMissing', `there is no ${where.replace('the ', '')}`)
    const text = Buffer.from(secret.data?.[within] ?? '', 'base64').toString('utf8')
    if (text === '') throw new ClusterFault('KubeconfigMissing', `${where} has no key ${within}`)
    const fault = text.length > longestKubeconfig ? 'it is too long' : await kubeconfigFault(text)
    if (fault !== undefined) throw new ClusterFault('KubeconfigRefused', `${within} in ${where}: ${fault}`)
    return text
  }
}

function isOwnedBy({ metadata }: Secret, { metadata: owner }: Cluster): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === owner.uid) ?? false
}
