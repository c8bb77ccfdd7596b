import type { KubernetesObject } from '../resources/kubernetes-object.ts'

/** Larger texts are rare and not worth holding. */
const longestHeld = 16 * 1024

/**
 * The JSON of what the last commit wrote: whoever answers or reports a write does so at once, and need not encode it
 * again.
 */
export class WrittenJson {
  readonly #texts = new Map<KubernetesObject, string>()

  of(object: KubernetesObject): string | undefined {
    return this.#texts.get(object)
  }

  hold(object: KubernetesObject, text: string): void {
    if (text.length <= longestHeld) this.#texts.set(object, text)
  }

  /** Called before another commit. */
  forget(): void {
    if (this.#texts.size > 0) this.#texts.clear()
  }
}
