import { type LlamaModel, type SequenceEvaluateOptions, type Token, TokenBias } from 'node-llama-cpp'
import type { Sampling } from '../llama/language-model.ts'

interface History {
  readonly model: LlamaModel
  readonly promptTokens: readonly Token[]
  /** The tokens of the answer so far; the list grows while it is written. */
  readonly generated: readonly Token[]
  readonly contextSize: number
}

/** The sampling options for llama.cpp. */
export function evaluateOptions(sampling: Sampling, history: History): SequenceEvaluateOptions {
  const { temperature, topP, topK, minP, seed } = sampling
  return {
    temperature,
    topP,
    topK,
    minP,
    seed,
    yieldEogToken: true,
    ...repetitionOptions(sampling, history),
    ...biasOptions(sampling, history),
  }
}

/**
 * The same logits without any narrowing of the choice, so that the reported probabilities are the whole distribution.
 */
export function distributionOptions(sampling: Sampling, history: History): SequenceEvaluateOptions {
  return evaluateOptions({ ...sampling, temperature: 1, topP: 1, topK: 0, minP: 0 }, history)
}

/** The repetition penalty counts everything read so far, presence and frequency penalties only the answer. */
function repetitionOptions(sampling: Sampling, history: History): SequenceEvaluateOptions {
  const { presencePenalty, frequencyPenalty, repetitionPenalty } = sampling
  const { promptTokens, generated, contextSize } = history
  if (repetitionPenalty !== 1) {
    const punishTokens = () => [...promptTokens, ...generated]
    return { repeatPenalty: { punishTokens, maxPunishTokens: contextSize, penalty: repetitionPenalty } }
  }
  if (presencePenalty === 0 && frequencyPenalty === 0) return {}
  const punishTokens = () => [...generated]
  return {
    repeatPenalty: { punishTokens, maxPunishTokens: contextSize, penalty: 1, presencePenalty, frequencyPenalty },
  }
}

/**
 * The biases of the request. The library takes one list of penalized tokens, so with a repetition penalty the presence
 * and frequency penalties become biases, too.
 */
function biasOptions(sampling: Sampling, { model, generated }: History): SequenceEvaluateOptions {
  const { presencePenalty, frequencyPenalty, repetitionPenalty, logitBias } = sampling
  const penaltiesAsBiases = repetitionPenalty !== 1 && (presencePenalty !== 0 || frequencyPenalty !== 0)
  if (!penaltiesAsBiases) return logitBias.size === 0 ? {} : { tokenBias: toTokenBias(model, logitBias) }
  return {
    tokenBias: () => {
      const biases = new Map(logitBias)
      for (const token of new Set<number>(generated)) biases.set(token, (biases.get(token) ?? 0) - presencePenalty)
      for (const token of generated) biases.set(token, (biases.get(token) ?? 0) - frequencyPenalty)
      return toTokenBias(model, biases)
    },
  }
}

function toTokenBias(model: LlamaModel, biases: ReadonlyMap<number, number>): TokenBias {
  const tokenBias = TokenBias.for(model)
  for (const [token, logit] of biases) tokenBias.set(toToken(token), { logit })
  return tokenBias
}

/** Converts to the library's token type. The numbers come from clients and have been checked against the vocabulary. */
export function toToken(token: number): Token {
  if (!isToken(token)) throw new RangeError(`${token} is not the number of a token`)
  return token
}

function isToken(value: number): value is Token {
  return Number.isSafeInteger(value) && value >= 0
}
