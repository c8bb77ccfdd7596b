import { readFileSync } from 'node:fs'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { connectKubernetes } from '../../cluster/kubernetes-client.ts'
import { type Clock, systemClock } from '../../foundation/clock.ts'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import { type Cluster, clusterIdOf, clusterKind, isAttached } from '../../resources/cluster.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { secretKind } from '../../resources/secret.ts'
import { StatusError, isStatusError } from '../../resources/status-error.ts'

export interface NewCluster {
  readonly name: string
  /** As its name, unless told. */
  readonly displayName: string | undefined
  /** As the home cluster's, unless told. */
  readonly enterprise: string | undefined
  readonly center: string | undefined
  readonly quota: Readonly<Record<string, string>> | undefined
  /** The file of a kubeconfig: the cluster runs elsewhere. */
  readonly attach: string | undefined
}

const answerDeadlineMs = 10_000
const pollMs = 50

/** Clusters as their administrator handles them: through the home cluster's own API. */
export class ClusterAdmin {
  readonly #client: ClusterClient & { close(): void }
  readonly #kubeconfig: string
  readonly #clock: Clock

  private constructor(client: ClusterClient & { close(): void }, kubeconfig: string, clock: Clock) {
    this.#client = client
    this.#kubeconfig = kubeconfig
    this.#clock = clock
  }

  static async connect(kubeconfig: string, clock: Clock = systemClock): Promise<ClusterAdmin> {
    try {
      return new ClusterAdmin(await connectKubernetes(kubeconfig, { answerDeadlineMs }), kubeconfig, clock)
    } catch (error) {
      throw unreachable(kubeconfig, error)
    }
  }

  async list(): Promise<readonly Cluster[]> {
    return (await this.#ask(() => this.#client.list(clusterKind))).items
  }

  /** By its name or its ID. */
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
    return this.#ask(() => this.#client.create(clusterKind, { metadata: { name }, spec }))
  }

  /** Resolves with the Cluster once it runs, or cannot: its status says which. */
  async settled(name: string, deadlineMs: number): Promise<Cluster> {
    const until = this.#clock.now() + deadlineMs
    for (;;) {
      const cluster = await this.find(name)
      const phase = cluster.status?.phase ?? 'Creating'
      if (phase !== 'Creating' || this.#clock.now() >= until) return cluster
      await this.#clock.sleep(pollMs)
    }
  }

  /** For its administrator. Of the home cluster it is the one that this was called with. */
  async kubeconfig(nameOrId: string): Promise<string> {
    const cluster = await this.find(nameOrId)
    if (isHome(cluster)) return readFileSync(this.#kubeconfig, 'utf8')
    const where = isAttached(cluster) ? cluster.spec.kubeconfigSecret : cluster.status?.kubeconfigSecret
    const secret = where && (await this.#ask(() => this.#client.get(secretKind, where)))
    const text = secret?.data?.[cluster.spec.kubeconfigSecret?.key ?? 'kubeconfig']
    if (text === undefined) throw new SluiceError('cluster_kubeconfig_missing', { name: cluster.metadata.name })
    return Buffer.from(text, 'base64').toString('utf8')
  }

  /** Resolves when it is gone: its Pods have ended by then. */
  async delete(nameOrId: string, options: { readonly purge: boolean; readonly deadlineMs: number }): Promise<void> {
    const { metadata } = await this.find(nameOrId)
    const { name, uid } = metadata
    if (options.purge) {
      await this.#ask(() => this.#client.patch(clusterKind, { name }, { spec: { deletionPolicy: 'Delete' } }))
    }
    await this.#ask(() => this.#client.delete(clusterKind, { name }, { uid }))
    const until = this.#clock.now() + options.deadlineMs
    for (;;) {
      const there = await this.#ask(() => this.#client.get(clusterKind, { name }))
      if (there?.metadata.uid !== uid) return
      if (this.#clock.now() >= until) throw new SluiceError('cluster_still_deleting', { name })
      await this.#clock.sleep(pollMs)
    }
  }

  close(): void {
    this.#client.close()
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
    try {
      await this.#client.create(secretKind, { metadata: ref, data })
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) throw this.#refusal(error)
      await this.#ask(() => this.#client.patch(secretKind, ref, { data }))
    }
    return ref
  }

  async #ask<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request()
    } catch (error) {
      throw this.#refusal(error)
    }
  }

  #refusal(error: unknown): SluiceError {
    if (!(error instanceof StatusError) || error.reason === 'Timeout') return unreachable(this.#kubeconfig, error)
    return new SluiceError('cluster_refused', { reason: error.message }, { cause: error })
  }
}

/** The only one whose name is its ID. */
function isHome(cluster: Cluster): boolean {
  return clusterIdOf(cluster) === cluster.metadata.name
}

function unreachable(kubeconfig: string, error: unknown): SluiceError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  const reason = errorMessage(error) || code || 'no answer'
  return new SluiceError('cluster_unreachable', { kubeconfig, reason }, { cause: error })
}
