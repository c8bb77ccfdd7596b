import { type LlamaModel, type SequenceEvaluateOptions, type Token, TokenBias } from 'node-llama-cpp'
import type { Sampling } from '../llama/language-model.ts'

interface History {
  readonly model: LlamaModel
  readonly promptTokens: readonly Token[]
  /** Grows while the answer is written. */
  readonly generated: readonly Token[]
  readonly contextSize: number
}

/** How llama.cpp is told to sample. */
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

/** The same logits, but no choice narrowed: what is reported as probabilities is then the whole distribution. */
export function distributionOptions(sampling: Sampling, history: History): SequenceEvaluateOptions {
  return evaluateOptions({ ...sampling, temperature: 1, topP: 1, topK: 0, minP: 0 }, history)
}

/** Repetition is measured against everything read so far, presence and frequency against the answer alone. */
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

/** Biases of the request. With a repetition penalty beside them, presence and frequency are told as biases, too. */
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

/** The library brands its token numbers; ours come from clients and were checked against the vocabulary. */
export function toToken(token: number): Token {
  if (!isToken(token)) throw new RangeError(`${token} is not the number of a token`)
  return token
}

function isToken(value: number): value is Token {
  return Number.isSafeInteger(value) && value >= 0
}
