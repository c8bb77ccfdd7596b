import { SluiceError } from '../../../foundation/errors.ts'
import { gatewayNamespace, gatewayServiceName } from '../../../resources/model-labels.ts'
import { isStatusError } from '../../../resources/status-error.ts'
import { CommandedCluster, type KubeconfigChoice } from '../../commanded-cluster.ts'

export interface GatewayAnswer {
  readonly status: number
  readonly bytes: AsyncIterable<Uint8Array>
}

/** A cluster's gateway, asked through the cluster's API server: whoever reaches the cluster reaches its models. */
export class GatewayInCluster {
  readonly #cluster: CommandedCluster

  private constructor(cluster: CommandedCluster) {
    this.#cluster = cluster
  }

  static readonly connect = async (kubeconfig: KubeconfigChoice): Promise<GatewayInCluster> =>
    new GatewayInCluster(await CommandedCluster.connect(kubeconfig))

  /** The key goes where the API server does not look: it keeps `Authorization` to itself. */
  async ask(
    path: string,
    body: object | undefined,
    apiKey: string | undefined,
    signal: AbortSignal,
  ): Promise<GatewayAnswer> {
    const headers = { accept: '*/*', ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }) }
    const question = { namespace: gatewayNamespace, service: gatewayServiceName, port: 'http', path, body, headers }
    try {
      return await this.#cluster.kubernetes.askService(question, signal)
    } catch (error) {
      const isTimeout = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
      if (signal.aborted && !isTimeout) throw error
      // Of a Sluice on one machine, too: its API server leads to Pods only, and its gateway is none.
      if (isStatusError(error, 'NotFound') || isStatusError(error, 'ServiceUnavailable')) {
        throw new SluiceError('no_gateway', { reason: error.message }, { cause: error })
      }
      throw this.#cluster.explained(error)
    }
  }

  close(): void {
    this.#cluster.close()
  }
}
