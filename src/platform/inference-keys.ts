import type { ClusterClient } from '../cluster/cluster-client.ts'
import { connectKubernetes } from '../cluster/kubernetes-client.ts'
import { SluiceError, errorMessage } from '../foundation/errors.ts'
import { bearerKeyText, generateBearerKey, secretDigest } from '../gateway/access/bearer-key.ts'
import { type ApiKey, apiKeyKind } from '../resources/api-key.ts'
import { timestamp } from '../resources/kubernetes-object.ts'
import { StatusError } from '../resources/status-error.ts'

export interface NewKey {
  readonly name: string
  readonly enterprise: string
  /** `undefined`: every Model. */
  readonly models: readonly string[] | undefined
  /** Milliseconds since the epoch; `undefined`: never. */
  readonly expiresAtMs: number | undefined
}

const answerDeadlineMs = 10_000

/** The keys of the inference endpoints, as their administrator handles them: through the cluster's own API. */
export class InferenceKeys {
  readonly #client: ClusterClient & { close(): void }
  readonly #kubeconfig: string

  private constructor(client: ClusterClient & { close(): void }, kubeconfig: string) {
    this.#client = client
    this.#kubeconfig = kubeconfig
  }

  static async connect(kubeconfig: string): Promise<InferenceKeys> {
    try {
      return new InferenceKeys(await connectKubernetes(kubeconfig, { answerDeadlineMs }), kubeconfig)
    } catch (error) {
      throw unreachable(kubeconfig, error)
    }
  }

  /** The key itself: told here and nowhere else, for only its hash is kept. */
  async create({ name, enterprise, models, expiresAtMs }: NewKey): Promise<string> {
    const key = generateBearerKey()
    const spec: ApiKey['spec'] = {
      enterprise,
      accessKey: key.accessKey,
      secretSha256: secretDigest(key.secret).toString('hex'),
      disabled: false,
      use: 'Inference',
      ...(models && { allowedModels: [...models] }),
      ...(expiresAtMs !== undefined && { expiresAt: timestamp(expiresAtMs) }),
    }
    await this.#ask(() => this.#client.create(apiKeyKind, { metadata: { name }, spec }))
    return bearerKeyText(key)
  }

  async list(): Promise<readonly ApiKey[]> {
    const { items } = await this.#ask(() => this.#client.list(apiKeyKind))
    return items.filter(({ spec }) => spec.use === 'Inference')
  }

  /** It is gone for good: a gateway refuses it as soon as it hears of it. */
  async revoke(name: string): Promise<void> {
    const key = await this.#ask(() => this.#client.get(apiKeyKind, { name }))
    // The key pair of the management API is not ours to take away.
    if (key?.spec.use !== 'Inference') throw new SluiceError('api_key_not_found', { name })
    await this.#ask(() => this.#client.delete(apiKeyKind, { name }, { uid: key.metadata.uid }))
  }

  close(): void {
    this.#client.close()
  }

  async #ask<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request()
    } catch (error) {
      if (!(error instanceof StatusError) || error.reason === 'Timeout') throw unreachable(this.#kubeconfig, error)
      throw new SluiceError('cluster_refused', { reason: error.message }, { cause: error })
    }
  }
}

function unreachable(kubeconfig: string, error: unknown): SluiceError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  const reason = errorMessage(error) || code || 'no answer'
  return new SluiceError('cluster_unreachable', { kubeconfig, reason }, { cause: error })
}
