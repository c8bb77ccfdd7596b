import type { ClusterClient } from '../cluster/cluster-client.ts'
import { type KubernetesClient, connectKubernetes } from '../cluster/kubernetes-client.ts'
import { SluiceError, errorMessage } from '../foundation/errors.ts'
import { StatusError } from '../resources/status-error.ts'

const answerDeadlineMs = 10_000

/** What a cluster is reached by: a kubeconfig, and a context of it. */
export interface KubeconfigChoice {
  /** Undefined for the one that kubectl would use. */
  readonly path: string | undefined
  /** Undefined for the current one. */
  readonly context?: string | undefined
}

/** A cluster as the commands see it: through its own API. */
export class CommandedCluster {
  readonly #client: KubernetesClient
  readonly kubeconfig: KubeconfigChoice

  private constructor(client: KubernetesClient, kubeconfig: KubeconfigChoice) {
    this.#client = client
    this.kubeconfig = kubeconfig
  }

  static async connect(kubeconfig: KubeconfigChoice): Promise<CommandedCluster> {
    const { path, context } = kubeconfig
    try {
      return new CommandedCluster(await connectKubernetes(path, { answerDeadlineMs, context }), kubeconfig)
    } catch (error) {
      throw unreachable(kubeconfig, error)
    }
  }

  /** For what takes long and comes in pieces: its errors are as the client throws them. */
  get kubernetes(): KubernetesClient {
    return this.#client
  }

  /** Errors become messages for the person at the terminal. */
  async ask<T>(request: (client: ClusterClient) => Promise<T>): Promise<T> {
    try {
      return await request(this.#client)
    } catch (error) {
      throw this.explained(error)
    }
  }

  /** What the client threw, for the person at the terminal. */
  explained(error: unknown): SluiceError {
    if (error instanceof SluiceError) return error
    if (!(error instanceof StatusError) || error.reason === 'Timeout') return unreachable(this.kubeconfig, error)
    return new SluiceError('cluster_refused', { reason: error.message }, { cause: error })
  }

  close(): void {
    this.#client.close()
  }
}

function unreachable({ path, context }: KubeconfigChoice, error: unknown): SluiceError {
  const kubeconfig = [path ?? "kubectl's kubeconfig", ...(context === undefined ? [] : [`(context ${context})`])].join(
    ' ',
  )
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  const reason = errorMessage(error) || code || 'no answer'
  return new SluiceError('cluster_unreachable', { kubeconfig, reason }, { cause: error })
}
