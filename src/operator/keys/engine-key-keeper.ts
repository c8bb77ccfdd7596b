import { randomBytes } from 'node:crypto'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { engineKeyIn, engineKeysName, engineKeysType } from '../../resources/engine-keys.ts'
import { modelLabel } from '../../resources/model-labels.ts'
import type { Model } from '../../resources/model.ts'
import type { Pod } from '../../resources/pod.ts'
import { type Secret, secretKind } from '../../resources/secret.ts'
import { StatusError } from '../../resources/status-error.ts'
import { ownerReferenceTo } from '../model-pod.ts'
import { newestKey, planEngineKeys } from './plan-engine-keys.ts'

/** Keeps the keys between the gateway and a Model's engines in a Secret for each Model. */
export class EngineKeyKeeper {
  readonly #client: ClusterClient
  readonly #secrets: ObjectCache<Secret>

  constructor(client: ClusterClient, secrets: ObjectCache<Secret>) {
    this.#client = client
    this.#secrets = secrets
  }

  /** The key that Pods get now; undefined when there is none yet. */
  newest(model: Model): string | undefined {
    const secret = this.#find(model)
    const id = secret && isOf(model, secret) ? newestKey(secret.data ?? {}) : undefined
    return id !== undefined && engineKeyIn(secret, id) !== undefined ? id : undefined
  }

  /** Writes what is missing for the next Pods, and returns which key they get. */
  async prepare(model: Model, pods: readonly Pod[], signal: AbortSignal): Promise<string | undefined> {
    const secret = this.#find(model)
    const isOwn = secret !== undefined && isOf(model, secret)
    const keys = isOwn ? (secret.data ?? {}) : {}
    const data = planEngineKeys(keys, pods, newEngineKey)
    if (data === undefined) return newestKey(keys)
    const { name, namespace } = model.metadata
    const metadata = {
      name: engineKeysName(name),
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [modelLabel]: name },
      ownerReferences: [ownerReferenceTo(model)],
    }
    if (secret) await this.#replace(secret, { metadata, data }, signal)
    else await this.#client.create(secretKind, { metadata, type: engineKeysType, data }, signal)
    return newestKey(data)
  }

  async #replace(secret: Secret, wanted: Pick<Secret, 'metadata' | 'data'>, signal: AbortSignal): Promise<void> {
    const { name, uid, resourceVersion } = secret.metadata
    // Its data may be somebody's own; the type cannot change after creation.
    if (secret.type !== engineKeysType)
      throw refusal(`The Secret ${name} is needed for engine keys; give yours another name.`)
    const metadata = { ...wanted.metadata, uid, resourceVersion }
    await this.#client.update(secretKind, { ...secret, metadata, data: wanted.data }, signal)
  }

  #find({ metadata: { namespace, name } }: Model): Secret | undefined {
    return this.#secrets.get({ namespace, name: engineKeysName(name) })
  }
}

/** A Secret that was left by an earlier Model of the same name does not count. */
function isOf({ metadata: { uid } }: Model, { metadata }: Secret): boolean {
  return metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid) ?? false
}

function refusal(message: string): StatusError {
  return new StatusError('Forbidden', message)
}

/** Without a hyphen, which at the beginning of an argument would be taken for another flag. */
export function newEngineKey(): string {
  return randomBytes(32).toString('hex')
}
