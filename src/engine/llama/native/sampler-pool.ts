import type { LlamaAddon, NativeModel, NativeSampler } from './llama-addon.ts'

/** Without any state of the answers before. The seed is another one for each, since an equal one would be kept. */
const atRest = { temperature: 0, topK: 0, topP: 1, minP: 0 }

/**
 * Samplers for answers, each for one at a time. They are used again, since each has a place for every token of the
 * vocabulary, 0.6 MB to 3 MB, which is freed only when V8 collects it, and V8 sees a small object.
 */
export class SamplerPool {
  readonly #addon: LlamaAddon
  readonly #model: NativeModel
  readonly #free: NativeSampler[] = []
  #isDisposed = false

  constructor(addon: LlamaAddon, model: NativeModel) {
    this.#addon = addon
    this.#model = model
  }

  take(): NativeSampler {
    return this.#free.pop() ?? new this.#addon.AddonSampler(this.#model)
  }

  /** No step may use it any more. Its next answer is drawn as by a new one. */
  giveBack(sampler: NativeSampler, lastSeed: number): void {
    if (this.#isDisposed) {
      sampler.dispose()
      return
    }
    sampler.applyConfig({ ...atRest, seed: lastSeed === 0 ? 1 : 0 })
    this.#free.push(sampler)
  }

  /** Before the model: samplers know its vocabulary. */
  dispose(): void {
    this.#isDisposed = true
    for (const sampler of this.#free.splice(0)) sampler.dispose()
  }
}
