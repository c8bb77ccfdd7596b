import type { ClusterClient } from '../cluster/cluster-client.ts'
import { connectKubernetes } from '../cluster/kubernetes-client.ts'
import { SluiceError, errorMessage } from '../foundation/errors.ts'
import { StatusError } from '../resources/status-error.ts'

const answerDeadlineMs = 10_000

/** A cluster as the commands see it: through its own API. */
export class CommandedCluster {
  readonly #client: ClusterClient & { close(): void }
  readonly kubeconfig: string

  private constructor(client: ClusterClient & { close(): void }, kubeconfig: string) {
    this.#client = client
    this.kubeconfig = kubeconfig
  }

  static async connect(kubeconfig: string): Promise<CommandedCluster> {
    try {
      return new CommandedCluster(await connectKubernetes(kubeconfig, { answerDeadlineMs }), kubeconfig)
    } catch (error) {
      throw unreachable(kubeconfig, error)
    }
  }

  /** Errors become messages for the person at the terminal. */
  async ask<T>(request: (client: ClusterClient) => Promise<T>): Promise<T> {
    try {
      return await request(this.#client)
    } catch (error) {
      if (!(error instanceof StatusError) || error.reason === 'Timeout') throw unreachable(this.kubeconfig, error)
      throw new SluiceError('cluster_refused', { reason: error.message }, { cause: error })
    }
  }

  close(): void {
    this.#client.close()
  }
}

function unreachable(kubeconfig: string, error: unknown): SluiceError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  const reason = errorMessage(error) || code || 'no answer'
  return new SluiceError('cluster_unreachable', { kubeconfig, reason }, { cause: error })
}
