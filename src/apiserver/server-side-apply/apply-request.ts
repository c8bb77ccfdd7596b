import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject, ObjectRef } from '../../resources/kubernetes-object.ts'
import { StatusError, conflict, isStatusError } from '../../resources/status-error.ts'
import type { ClusterApi, Subresource, WriteOptions } from '../cluster-api.ts'
import { type JsonObject, withValueAtPath } from '../../resources/json-value.ts'
import type { PatchInPhases } from '../api-requests.ts'
import { type Phases, PlainTurns, inTurns } from '../writing/write-phases.ts'
import { applyTo } from './managers/field-tracking.ts'
import { metadataOf } from './managers/track-update.ts'

export interface ApplyOptions extends WriteOptions {
  readonly manager: string
  readonly force: boolean
  /** Throws when the user may not create the object. */
  readonly refuseCreate?: () => void
}

const mostAttempts = 8

/** Applies a manifest to an object, or creates the object. */
export async function applyManifestTo(
  api: ClusterApi,
  target: { readonly kind: Kind; readonly ref: ObjectRef; readonly subresource?: Subresource | undefined },
  manifest: JsonObject,
  options: ApplyOptions,
): Promise<{ readonly object: KubernetesObject; readonly created: boolean }> {
  const { kind, ref, subresource } = target
  const { force, manager } = options
  checkName(ref, manifest)
  const writing = { ...options, applied: true }
  const apply: PatchInPhases = {
    phases: (_value, current) =>
      applyTo(kind, { current, manifest, force, subresource }, { manager, now: api.clock.now() }),
  }
  for (let attempt = 1; ; attempt += 1) {
    const created = subresource === undefined && !api.find(kind, ref)
    try {
      if (!created) return { object: await api.patch(kind, ref, apply, writing, subresource), created }
      options.refuseCreate?.()
      const made = inTurns(
        newObject(kind, ref, manifest, options, api.clock.now()),
        options.turns ?? new PlainTurns(() => api.clock.now()),
      )
      const input = made instanceof Promise ? await made : made
      return { object: await api.create(kind, ref.namespace, input, writing), created }
    } catch (error) {
      // Somebody else created or deleted it in the meantime: then the other case applies.
      const changed = isStatusError(error, created ? 'AlreadyExists' : 'NotFound')
      if (!changed || subresource !== undefined || attempt >= mostAttempts) throw error
    }
  }
}

/** The name is in the address; a manifest may leave it out, but not contradict it. */
function checkName({ name }: ObjectRef, manifest: JsonObject): void {
  const { name: said } = metadataOf(manifest)
  if (said === undefined || said === null || said === '' || said === name) return
  const shown = (typeof said === 'string' ? said : JSON.stringify(said)).slice(0, 253)
  throw new StatusError('BadRequest', `the name of the object (${shown}) does not match the name on the URL (${name})`)
}

function* newObject(
  kind: Kind,
  { name }: ObjectRef,
  manifest: JsonObject,
  { force, manager }: ApplyOptions,
  now: number,
): Phases<JsonObject> {
  const { uid, name: said } = metadataOf(manifest)
  if (said === undefined || said === null || said === '') {
    const why = `the name of the object (${name} based on URL) was undeterminable: name must be provided`
    throw new StatusError('BadRequest', why)
  }
  if (uid !== undefined && uid !== null && uid !== '') {
    const said = (typeof uid === 'string' ? uid : JSON.stringify(uid)).slice(0, 64)
    const why = `uid mismatch: the provided object specified uid ${said}, and no existing object was found`
    throw conflict(kind, name, why)
  }
  const input = yield* applyTo(kind, { current: undefined, manifest, force }, { manager, now })
  return withValueAtPath(input, ['metadata', 'resourceVersion'], undefined)
}
