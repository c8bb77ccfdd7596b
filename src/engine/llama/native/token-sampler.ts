import type { Sampling } from '../language-model.ts'
import type { NativeGrammarState, NativeSampler, SamplerSettings } from './llama-addon.ts'
import type { LoadedModel, Token } from './loaded-model.ts'
import type { SamplerPool } from './sampler-pool.ts'

/** What a draw depends on besides the sampling that a request asks for. */
export interface DrawHistory {
  readonly promptTokens: readonly Token[]
  /** The tokens of the answer so far; the list grows while it is written. */
  readonly generated: readonly Token[]
}

/** Draws the tokens of one answer. */
export class TokenSampler {
  readonly native: NativeSampler
  readonly #samplers: SamplerPool
  readonly #seed: number
  readonly #settings: () => SamplerSettings
  readonly #isSteady: boolean
  #isSet = false

  constructor(model: LoadedModel, sampling: Sampling, history: DrawHistory, grammar: NativeGrammarState | undefined) {
    this.#samplers = model.samplers
    this.native = model.samplers.take()
    this.#seed = sampling.seed
    const isEnd = (token: Token) => model.isEndToken(token)
    this.#settings = () => ({
      ...samplerSettings(sampling, history, isEnd),
      ...(grammar ? { grammarEvaluationState: grammar } : {}),
    })
    this.#isSteady = !dependsOnAnswer(sampling)
  }

  /** To be called before each draw. */
  prepare(): NativeSampler {
    if (!this.#isSteady || !this.#isSet) this.native.applyConfig(this.#settings())
    this.#isSet = true
    return this.native
  }

  /** Once, when no step uses it any more. */
  dispose(): void {
    this.#samplers.giveBack(this.native, this.#seed)
  }
}

/** Without any narrowing of the choice, so that the reported probabilities are the whole distribution. */
export function wholeDistribution(sampling: Sampling): Sampling {
  return { ...sampling, temperature: 1, topP: 1, topK: 0, minP: 0 }
}

function dependsOnAnswer({ presencePenalty, frequencyPenalty, repetitionPenalty }: Sampling): boolean {
  return presencePenalty !== 0 || frequencyPenalty !== 0 || repetitionPenalty !== 1
}

/** The settings of llama.cpp's samplers for the next draw. */
export function samplerSettings(
  sampling: Sampling,
  history: DrawHistory,
  isEndToken: (token: Token) => boolean,
): SamplerSettings {
  const { temperature, topP, topK, minP, seed } = sampling
  return {
    temperature,
    topP,
    topK,
    minP,
    seed,
    ...repetitionSettings(sampling, history),
    ...biasSettings(sampling, history, isEndToken),
  }
}

/** The repetition penalty counts everything read so far, presence and frequency penalties only the answer. */
function repetitionSettings(sampling: Sampling, { promptTokens, generated }: DrawHistory): Partial<SamplerSettings> {
  const { presencePenalty, frequencyPenalty, repetitionPenalty } = sampling
  if (repetitionPenalty !== 1) return { repeatPenalty: repetitionPenalty, ...punished([...promptTokens, ...generated]) }
  if (presencePenalty === 0 && frequencyPenalty === 0) return {}
  return {
    repeatPenalty: 1,
    repeatPenaltyPresencePenalty: presencePenalty,
    repeatPenaltyFrequencyPenalty: frequencyPenalty,
    ...punished(generated),
  }
}

function punished(tokens: readonly Token[]): Partial<SamplerSettings> {
  return { repeatPenaltyMaxTokens: tokens.length, repeatPenaltyTokens: Uint32Array.from(tokens) }
}

/**
 * The biases of the request. llama.cpp takes one list of penalized tokens, so with a repetition penalty the presence
 * and frequency penalties become biases, too.
 */
function biasSettings(
  sampling: Sampling,
  { generated }: DrawHistory,
  isEndToken: (token: Token) => boolean,
): Partial<SamplerSettings> {
  const { presencePenalty, frequencyPenalty, repetitionPenalty, logitBias } = sampling
  const biases = new Map(logitBias)
  if (repetitionPenalty !== 1 && (presencePenalty !== 0 || frequencyPenalty !== 0)) {
    for (const token of new Set(generated)) biases.set(token, (biases.get(token) ?? 0) - presencePenalty)
    for (const token of generated) biases.set(token, (biases.get(token) ?? 0) - frequencyPenalty)
  }
  // An answer must be able to end.
  const kept = [...biases].filter(([token]) => !isEndToken(token))
  if (kept.length === 0) return {}
  return {
    tokenBiasKeys: Uint32Array.from(kept, ([token]) => token),
    tokenBiasValues: Float32Array.from(kept, ([, bias]) => bias),
  }
}
