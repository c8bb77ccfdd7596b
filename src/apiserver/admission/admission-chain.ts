import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { invalidObject } from '../../resources/status-error.ts'
import type { AdmissionPlugin, AdmissionRequest, AdmissionRule } from './admission.ts'

/**
 * Everything beside the kinds' own rules that decides about a write: what completes objects, what refuses them, and
 * what counts them.
 */
export class AdmissionChain {
  readonly #rules: readonly AdmissionRule[]
  readonly #plugins: readonly AdmissionPlugin[]

  constructor(rules: readonly AdmissionRule[], plugins: readonly AdmissionPlugin[]) {
    this.#rules = rules
    this.#plugins = plugins
  }

  complete(request: AdmissionRequest): KubernetesObject {
    let { object } = request
    for (const plugin of this.#plugins) if (plugin.complete) object = plugin.complete({ ...request, object })
    return object
  }

  /** Throws the refusal. The returned function must be called when the write is over, whether it succeeded or not. */
  admit(request: AdmissionRequest): () => void {
    const errors = this.#rules.flatMap((rule) => rule(request))
    if (errors.length > 0) throw invalidObject(request.kind, request.object.metadata.name, errors)
    this.judge(request)
    const holds: (() => void)[] = []
    const release = () => {
      for (const giveBack of holds.splice(0)) giveBack()
    }
    try {
      for (const plugin of this.#plugins) {
        const hold = plugin.hold?.(request)
        if (hold) holds.push(hold)
      }
    } catch (error) {
      release()
      throw error
    }
    return release
  }

  /** Asks only those who judge, as about what nobody counts: the status of an object, a connection into a Pod. */
  judge(request: AdmissionRequest): void {
    for (const plugin of this.#plugins) plugin.judge?.(request)
  }

  changed(kind: Kind, object: KubernetesObject, gone: boolean): void {
    for (const plugin of this.#plugins) plugin.changed?.(kind, object, gone)
  }
}
