import type { KubernetesObject } from '../../resources/kubernetes-object.ts'

const mostShared = 512
/** Many contain something unique, such as a uid: they are seen once and make room for the next. */
const mostSeenOnce = 128
const longestShared = 4096

/**
 * Shares equal managed fields among objects. Objects of a kind are mostly written by the same managers with the same
 * fields, and managed fields are a good part of a small object's size in memory. Stored objects are never changed in
 * place.
 */
export class SharedFields {
  readonly #shared = new Map<string, object>()
  readonly #seenOnce = new Map<string, object>()

  /** How many it holds, whether or not an object still uses them. */
  get size(): number {
    return this.#shared.size + this.#seenOnce.size
  }

  /** Puts shared fields into an object that nobody else has yet. */
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
    const shared = this.#shared.get(text)
    if (shared) return shared
    const once = this.#seenOnce.get(text)
    if (once) this.#seenAgain(text, once)
    else this.#see(text, fields)
    return once ?? fields
  }

  #see(text: string, fields: object): void {
    this.#seenOnce.set(text, fields)
    const [oldest] = this.#seenOnce.keys()
    if (this.#seenOnce.size > mostSeenOnce && oldest !== undefined) this.#seenOnce.delete(oldest)
  }

  #seenAgain(text: string, fields: object): void {
    this.#seenOnce.delete(text)
    // Cleared rather than sorted by use: what is common comes back at once.
    if (this.#shared.size >= mostShared) this.#shared.clear()
    this.#shared.set(text, fields)
  }
}
