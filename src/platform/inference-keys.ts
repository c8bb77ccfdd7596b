import { SluiceError } from '../foundation/errors.ts'
import { bearerKeyText, generateBearerKey, secretDigest } from '../gateway/access/bearer-key.ts'
import { type ApiKey, apiKeyKind } from '../resources/api-key.ts'
import { timestamp } from '../resources/kubernetes-object.ts'
import { CommandedCluster } from './commanded-cluster.ts'

export interface NewKey {
  readonly name: string
  readonly enterprise: string
  /** `undefined`: every Model. */
  readonly models: readonly string[] | undefined
  /** Milliseconds since the epoch; `undefined`: never. */
  readonly expiresAtMs: number | undefined
}

/** The keys of the inference endpoints, as their administrator handles them: through the cluster's own API. */
export class InferenceKeys {
  readonly #cluster: CommandedCluster

  private constructor(cluster: CommandedCluster) {
    this.#cluster = cluster
  }

  static async connect(kubeconfig: string): Promise<InferenceKeys> {
    return new InferenceKeys(await CommandedCluster.connect(kubeconfig))
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
    await this.#cluster.ask((client) => client.create(apiKeyKind, { metadata: { name }, spec }))
    return bearerKeyText(key)
  }

  async list(): Promise<readonly ApiKey[]> {
    const { items } = await this.#cluster.ask((client) => client.list(apiKeyKind))
    return items.filter(({ spec }) => spec.use === 'Inference')
  }

  /** It is gone for good: a gateway refuses it as soon as it hears of it. */
  async revoke(name: string): Promise<void> {
    const key = await this.#cluster.ask((client) => client.get(apiKeyKind, { name }))
    // The key pair of the management API is not ours to take away.
    if (key?.spec.use !== 'Inference') throw new SluiceError('api_key_not_found', { name })
    await this.#cluster.ask((client) => client.delete(apiKeyKind, { name }, { uid: key.metadata.uid }))
  }

  close(): void {
    this.#cluster.close()
  }
}
