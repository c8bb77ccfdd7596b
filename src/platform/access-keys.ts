import { readFile, rename, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { SluiceError, errorMessage } from '../foundation/errors.ts'
import { type KeyPair, apiKeySpec, generateKeyPair, secretDigest } from '../management/key-pair.ts'
import { type ApiKey, apiKeyKind } from '../resources/api-key.ts'
import { timestamp } from '../resources/kubernetes-object.ts'
import { CommandedCluster, type KubeconfigChoice } from './commanded-cluster.ts'

export interface NewAccessKey {
  readonly name: string
  readonly enterprise: string
  /** In milliseconds since the epoch; `undefined` if the key never expires. */
  readonly expiresAtMs: number | undefined
}

export interface Rotated extends KeyPair {
  /** Until then the previous secret is accepted, too; `undefined` if it no longer is. */
  readonly previousUntil: string | undefined
}

/** The key pairs of the management API. Lets their administrator manage them through the cluster's own API. */
export class AccessKeys {
  readonly #cluster: Pick<CommandedCluster, 'ask' | 'close'>
  readonly #now: () => number

  constructor(cluster: Pick<CommandedCluster, 'ask' | 'close'>, now: () => number = Date.now) {
    this.#cluster = cluster
    this.#now = now
  }

  static async connect(kubeconfig: KubeconfigChoice): Promise<AccessKeys> {
    return new AccessKeys(await CommandedCluster.connect(kubeconfig))
  }

  /** Returns the new pair. This is the only time the secret is shown, since only its hash is kept. */
  async create({ name, enterprise, expiresAtMs }: NewAccessKey): Promise<KeyPair> {
    const pair = generateKeyPair()
    const expiry = expiresAtMs === undefined ? {} : { expiresAt: timestamp(expiresAtMs) }
    const spec = { ...apiKeySpec(pair, enterprise), ...expiry }
    await this.#cluster.ask((client) => client.create(apiKeyKind, { metadata: { name }, spec }))
    return pair
  }

  async list(): Promise<readonly ApiKey[]> {
    const { items } = await this.#cluster.ask((client) => client.list(apiKeyKind))
    return items.filter(({ spec }) => spec.use !== 'Inference')
  }

  async disable(name: string, disabled: boolean): Promise<void> {
    const key = await this.#find(name)
    await this.#update(key, { ...key.spec, disabled })
  }

  /**
   * Makes a new secret for the same access key. The previous one stays valid for a while, so that programs can be
   * switched one by one. A third secret is refused: two are enough for a change, and each valid one is one more that
   * can leak.
   */
  async rotate(name: string, overlapMs: number): Promise<Rotated> {
    const key = await this.#find(name)
    const { previousSecret, ...spec } = key.spec
    const now = this.#now()
    if (previousSecret && now < Date.parse(previousSecret.expiresAt)) {
      throw new SluiceError('key_being_rotated', { name, until: previousSecret.expiresAt })
    }
    const { secretKey } = generateKeyPair()
    const previousUntil = overlapMs === 0 ? undefined : timestamp(now + overlapMs)
    const before =
      previousUntil === undefined ? {} : { previousSecret: { sha256: spec.secretSha256, expiresAt: previousUntil } }
    await this.#update(key, { ...spec, secretSha256: secretDigest(secretKey).toString('hex'), ...before })
    return { accessKey: spec.accessKey, secretKey, previousUntil }
  }

  /** Makes the previous secret invalid now. */
  async finishRotation(name: string): Promise<void> {
    const key = await this.#find(name)
    const { previousSecret, ...spec } = key.spec
    if (previousSecret) await this.#update(key, spec)
  }

  close(): void {
    this.#cluster.close()
  }

  /** Finds a key by its object's name or by the access key itself, which is what people have at hand. */
  async #find(name: string): Promise<ApiKey> {
    const found = (await this.list()).find(({ metadata, spec }) => metadata.name === name || spec.accessKey === name)
    if (!found) throw new SluiceError('access_key_not_found', { name })
    return found
  }

  /** Checks the object's version: if two people change a key at the same time, one of them is asked to look again. */
  #update(key: ApiKey, spec: ApiKey['spec']): Promise<ApiKey> {
    return this.#cluster.ask((client) => client.update(apiKeyKind, { ...key, spec }))
  }
}

const credentialsSchema = z.looseObject({ accessKey: z.string(), secretKey: z.string() })

/** Writes the new secret into a credentials file that has this access key. Returns whether there was one. */
export async function renewCredentialsFile(path: string, { accessKey, secretKey }: KeyPair): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (errorMessage(error).startsWith('ENOENT')) return undefined
    throw error
  })
  const parsed = text === undefined ? undefined : credentialsSchema.safeParse(parseJson(text)).data
  if (parsed?.accessKey !== accessKey) return false
  const temporary = `${path}.${process.pid}.new`
  await writeFile(temporary, `${JSON.stringify({ ...parsed, secretKey }, null, 2)}\n`, { mode: 0o600, flush: true })
  await rename(temporary, path)
  return true
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
