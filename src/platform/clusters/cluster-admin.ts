import { readFileSync } from 'node:fs'
import { type Clock, systemClock } from '../../foundation/clock.ts'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import { type Cluster, clusterIdOf, clusterKind, isAttached } from '../../resources/cluster.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { secretKind } from '../../resources/secret.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { CommandedCluster, type KubeconfigChoice } from '../commanded-cluster.ts'

export interface NewCluster {
  readonly name: string
  /** By default, the cluster's name. */
  readonly displayName: string | undefined
  /** By default, the home cluster's. */
  readonly enterprise: string | undefined
  readonly center: string | undefined
  readonly quota: Readonly<Record<string, string>> | undefined
  /** The path of a kubeconfig, for a cluster that runs elsewhere. */
  readonly attach: string | undefined
}

const pollMs = 50

/** Lets the administrator manage clusters through the home cluster's own API. */
export class ClusterAdmin {
  readonly #cluster: CommandedCluster
  readonly #clock: Clock

  private constructor(cluster: CommandedCluster, clock: Clock) {
    this.#cluster = cluster
    this.#clock = clock
  }

  static async connect(kubeconfig: KubeconfigChoice, clock: Clock = systemClock): Promise<ClusterAdmin> {
    return new ClusterAdmin(await CommandedCluster.connect(kubeconfig), clock)
  }

  async list(): Promise<readonly Cluster[]> {
    return (await this.#cluster.ask((client) => client.list(clusterKind))).items
  }

  /** Finds a cluster by its name or its ID. */
  async find(nameOrId: string): Promise<Cluster> {
    const all = await this.list()
    const found =
      all.find(({ metadata }) => metadata.name === nameOrId) ?? all.find((one) => clusterIdOf(one) === nameOrId)
    if (!found) throw new SluiceError('cluster_not_found', { id: nameOrId })
    return found
  }

  async create({ name, displayName = name, enterprise, center, quota, attach }: NewCluster): Promise<Cluster> {
    const home = (await this.list()).find(isHome)
    const secret = attach === undefined ? undefined : await this.#keepKubeconfig(name, attach)
    const spec = {
      displayName,
      enterprise: enterprise ?? home?.spec.enterprise ?? 'home',
      center: center ?? home?.spec.center ?? 'local-1',
      deletionPolicy: 'Retain' as const,
      ...(quota && { quota }),
      ...(secret && { kubeconfigSecret: { ...secret, key: 'kubeconfig' } }),
    }
    return this.#cluster.ask((client) => client.create(clusterKind, { metadata: { name }, spec }))
  }

  /** Resolves with the Cluster when its status says that it runs, or why it cannot. */
  async settled(name: string, deadlineMs: number): Promise<Cluster> {
    const until = this.#clock.now() + deadlineMs
    for (;;) {
      const cluster = await this.find(name)
      const phase = cluster.status?.phase ?? 'Creating'
      if (phase !== 'Creating' || this.#clock.now() >= until) return cluster
      await this.#clock.sleep(pollMs)
    }
  }

  /** The administrator's kubeconfig. For the home cluster this is the one in use already. */
  async kubeconfig(nameOrId: string): Promise<string> {
    const cluster = await this.find(nameOrId)
    const { path } = this.#cluster.kubeconfig
    if (isHome(cluster) && path !== undefined) return readFileSync(path, 'utf8')
    const where = isAttached(cluster) ? cluster.spec.kubeconfigSecret : cluster.status?.kubeconfigSecret
    const secret = where && (await this.#cluster.ask((client) => client.get(secretKind, where)))
    const text = secret?.data?.[cluster.spec.kubeconfigSecret?.key ?? 'kubeconfig']
    if (text === undefined) throw new SluiceError('cluster_kubeconfig_missing', { name: cluster.metadata.name })
    return Buffer.from(text, 'base64').toString('utf8')
  }

  /** Resolves when the cluster is gone and its Pods have ended. */
  async delete(nameOrId: string, options: { readonly purge: boolean; readonly deadlineMs: number }): Promise<void> {
    const { metadata } = await this.find(nameOrId)
    const { name, uid } = metadata
    if (options.purge) {
      await this.#cluster.ask((client) => client.patch(clusterKind, { name }, { spec: { deletionPolicy: 'Delete' } }))
    }
    await this.#cluster.ask((client) => client.delete(clusterKind, { name }, { uid }))
    const until = this.#clock.now() + options.deadlineMs
    for (;;) {
      const there = await this.#cluster.ask((client) => client.get(clusterKind, { name }))
      if (there?.metadata.uid !== uid) return
      if (this.#clock.now() >= until) throw new SluiceError('cluster_still_deleting', { name })
      await this.#clock.sleep(pollMs)
    }
  }

  close(): void {
    this.#cluster.close()
  }

  async #keepKubeconfig(name: string, file: string): Promise<{ readonly namespace: string; readonly name: string }> {
    let text
    try {
      text = readFileSync(file, 'utf8')
    } catch (error) {
      throw new SluiceError('invalid_flag', { flag: '--attach', reason: errorMessage(error) })
    }
    const ref = { namespace: gatewayNamespace, name: `${name}-attached` }
    const data = { kubeconfig: Buffer.from(text).toString('base64') }
    await this.#cluster.ask(async (client) => {
      try {
        await client.create(secretKind, { metadata: ref, data })
      } catch (error) {
        if (!isStatusError(error, 'AlreadyExists')) throw error
        await client.patch(secretKind, ref, { data })
      }
    })
    return ref
  }
}

/** Only the home cluster has its ID as its name. */
function isHome(cluster: Cluster): boolean {
  return clusterIdOf(cluster) === cluster.metadata.name
}
