import { type Kind, resourceNameOf } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'

/** Told of an object right before it is written; answers what to call if it is not, where that matters. */
export type Foresee<T> = (object: T) => (() => void) | undefined

/** Tells whoever need not wait until it is durable of each new object of a kind that the cluster itself makes. */
export class Foresight<T extends KubernetesObject> implements AdmissionPlugin {
  readonly #kind: Kind<T>
  readonly #foresee: Foresee<T>
  /** The uids of what is being written. */
  readonly #pending = new Set<string | undefined>()

  constructor(kind: Kind<T>, foresee: Foresee<T>) {
    this.#kind = kind
    this.#foresee = foresee
  }

  hold({ operation, kind, object, user, dryRun = false }: AdmissionRequest): (() => void) | undefined {
    if (operation !== 'create' || user !== undefined || dryRun || !this.#isOurs(kind, object)) return undefined
    const takeBack = this.#foresee(object)
    if (!takeBack) return undefined
    const { uid } = object.metadata
    this.#pending.add(uid)
    return () => {
      if (this.#pending.delete(uid)) takeBack()
    }
  }

  changed(_kind: Kind, { metadata }: KubernetesObject): void {
    this.#pending.delete(metadata.uid)
  }

  /** What is admitted went through the schema of its kind, so its kind tells its type. */
  #isOurs(kind: Kind, _object: KubernetesObject): _object is T {
    return resourceNameOf(kind) === resourceNameOf(this.#kind)
  }
}
