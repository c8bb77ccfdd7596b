import type { KubernetesObject } from '../resources/kubernetes-object.ts'

const mostShared = 1024
const longestShared = 4096

/**
 * Objects of one kind are mostly written by the same managers with the same fields, and who owns which field is a good part
 * of a small object's size in memory: equal ones are held once. Stored objects are never changed in place.
 */
export class SharedFields {
  readonly #known = new Map<string, object>()

  /** Puts the shared ones into an object that nobody else has yet. */
  share(object: KubernetesObject): void {
    const managers: unknown = object.metadata.managedFields
    if (!Array.isArray(managers)) return
    for (const manager of managers) {
      if (typeof manager !== 'object' || manager === null || !('fieldsV1' in manager)) continue
      manager.fieldsV1 = this.#one(manager.fieldsV1)
    }
  }

  #one(fields: unknown): unknown {
    if (typeof fields !== 'object' || fields === null) return fields
    const text = JSON.stringify(fields)
    if (text.length > longestShared) return fields
    const known = this.#known.get(text)
    if (known) return known
    // Begun anew rather than sorted by use: what is common comes back at once.
    if (this.#known.size >= mostShared) this.#known.clear()
    this.#known.set(text, fields)
    return fields
  }
}
