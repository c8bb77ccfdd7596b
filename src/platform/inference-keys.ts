import { SluiceError } from '../foundation/errors.ts'
import { bearerKeyText, generateBearerKey, secretDigest } from '../gateway/access/bearer-key.ts'
import { type ApiKey, apiKeyKind } from '../resources/api-key.ts'
import { timestamp } from '../resources/kubernetes-object.ts'
import { CommandedCluster, type KubeconfigChoice } from './commanded-cluster.ts'

export interface NewKey {
  readonly name: string
  readonly enterprise: string
  /** If `undefined`, all Models. */
  readonly models: readonly string[] | undefined
  /** In milliseconds since the epoch; `undefined` if the key never expires. */
  readonly expiresAtMs: number | undefined
}

/** What is kept of a new key, and the text that its holder sends. */
export function newInferenceKey(): { accessKey: string; secretSha256: string; text: string } {
  const key = generateBearerKey()
  const { accessKey, secret } = key
  return { accessKey, secretSha256: secretDigest(secret).toString('hex'), text: bearerKeyText(key) }
}

/** The API keys for inference. Lets their administrator manage them through the cluster's own API. */
export class InferenceKeys {
  readonly #cluster: CommandedCluster

  private constructor(cluster: CommandedCluster) {
    this.#cluster = cluster
  }

  static async connect(kubeconfig: KubeconfigChoice): Promise<InferenceKeys> {
    return new InferenceKeys(await CommandedCluster.connect(kubeconfig))
  }

  /** Returns the new key. This is the only time it is shown, since only its hash is kept. */
  async create({ name, enterprise, models, expiresAtMs }: NewKey): Promise<string> {
    const { accessKey, secretSha256, text } = newInferenceKey()
    const spec: ApiKey['spec'] = {
      enterprise,
      accessKey,
      secretSha256,
      disabled: false,
      use: 'Inference',
      ...(models && { allowedModels: [...models] }),
      ...(expiresAtMs !== undefined && { expiresAt: timestamp(expiresAtMs) }),
    }
    await this.#cluster.ask((client) => client.create(apiKeyKind, { metadata: { name }, spec }))
    return text
  }

  async list(): Promise<readonly ApiKey[]> {
    const { items } = await this.#cluster.ask((client) => client.list(apiKeyKind))
    return items.filter(({ spec }) => spec.use === 'Inference')
  }

  /** Deletes the key. A gateway refuses it as soon as it hears of this. */
  async revoke(name: string): Promise<void> {
    const key = await this.#cluster.ask((client) => client.get(apiKeyKind, { name }))
    // Key pairs of the management API are managed by other commands.
    if (key?.spec.use !== 'Inference') throw new SluiceError('api_key_not_found', { name })
    await this.#cluster.ask((client) => client.delete(apiKeyKind, { name }, { uid: key.metadata.uid }))
  }

  close(): void {
    this.#cluster.close()
  }
}
