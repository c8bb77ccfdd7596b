import type { KubernetesObject } from '../resources/kubernetes-object.ts'

/** A larger one is seldom, and not worth holding. */
const longestHeld = 16 * 1024

/**
 * The texts of what the last commit wrote: those who answer a write, or tell of it, do so at
 * once and need not encode it again.
 */
export class WrittenJson {
  readonly #texts = new Map<KubernetesObject, string>()

  of(object: KubernetesObject): string | undefined {
    return this.#texts.get(object)
  }

  hold(object: KubernetesObject, text: string): void {
    if (text.length <= longestHeld) this.#texts.set(object, text)
  }

  /** Another commit follows. */
  forget(): void {
    if (this.#texts.size > 0) this.#texts.clear()
  }
}
