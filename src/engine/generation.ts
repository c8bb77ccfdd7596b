import type { LlamaContextSequence, SequenceEvaluateOptions, Token } from 'node-llama-cpp'
import type { GenerationEvent, GenerationOptions, Prompt, Sampling } from './language-model.ts'
import { StopMatcher } from './stop-matcher.ts'
import { TokenText } from './token-text.ts'

/** Prompt tokens computed between two looks at the signal: a client that leaves is noticed within one such step. */
const promptStepTokens = 256

/** Keeps of the sequence what the prompt begins with, and says how much that is. The last token is always computed anew. */
export async function alignSequence(sequence: LlamaContextSequence, prompt: Prompt): Promise<number> {
  await sequence.adaptStateToTokens(prompt.tokens.slice(0, -1), false)
  return sequence.nextTokenIndex
}

/** Continues an aligned sequence until an end token, a stop string, or `maxTokens`. */
export async function* generate(
  sequence: LlamaContextSequence,
  prompt: Prompt,
  options: GenerationOptions,
  signal: AbortSignal,
): AsyncGenerator<GenerationEvent, void, undefined> {
  const { model } = sequence
  const rest = await computePrompt(sequence, prompt.tokens, signal)
  const generated: Token[] = []
  const text = new TokenText((tokens, preceding) => model.detokenize(tokens, false, preceding), prompt.tokens)
  const matcher = new StopMatcher([...options.stop, ...prompt.endings])
  let finishReason: 'stop' | 'length' = 'length'
  let stopReason: string | null = null

  if (prompt.opening) yield { type: 'text', text: prompt.opening, completionTokens: 0 }
  const samplingOptions = evaluateOptions(options.sampling, prompt.tokens, generated, sequence.contextSize)
  for await (const token of sequence.evaluate(rest, samplingOptions)) {
    signal.throwIfAborted()
    generated.push(token)
    if (model.isEogToken(token)) {
      finishReason = 'stop'
      break
    }
    const piece = matcher.push(text.push(token))
    if (piece.text) yield { type: 'text', text: piece.text, completionTokens: generated.length }
    if (piece.stop !== undefined) {
      finishReason = 'stop'
      stopReason = options.stop.includes(piece.stop) ? piece.stop : null
      yield { type: 'end', finishReason, stopReason, completionTokens: generated.length }
      return
    }
    if (generated.length >= options.maxTokens) break
    // Checked again after the consumer took the text: it may have left meanwhile, and the next step costs a computation.
    signal.throwIfAborted()
  }
  const tail = matcher.push(text.flush())
  const remaining = tail.stop === undefined ? tail.text + matcher.flush() : tail.text
  if (remaining) yield { type: 'text', text: remaining, completionTokens: generated.length }
  yield { type: 'end', finishReason, stopReason, completionTokens: generated.length }
}

/** Computes the prompt in steps and returns its last part, which the first generated token depends on. */
async function computePrompt(
  sequence: LlamaContextSequence,
  tokens: readonly Token[],
  signal: AbortSignal,
): Promise<Token[]> {
  signal.throwIfAborted()
  let at = sequence.nextTokenIndex
  while (tokens.length - at > promptStepTokens) {
    await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(at, at + promptStepTokens))
    signal.throwIfAborted()
    at += promptStepTokens
  }
  return tokens.slice(at)
}

function evaluateOptions(
  sampling: Sampling,
  promptTokens: readonly Token[],
  generated: readonly Token[],
  contextSize: number,
): SequenceEvaluateOptions {
  const { temperature, topP, topK, minP, seed, presencePenalty, frequencyPenalty, repetitionPenalty } = sampling
  const base = { temperature, topP, topK, minP, seed, yieldEogToken: true }
  if (presencePenalty === 0 && frequencyPenalty === 0 && repetitionPenalty === 1) return base
  return {
    ...base,
    repeatPenalty: {
      // Repetition is measured against everything read so far, presence and frequency against the answer alone.
      punishTokens: () => (repetitionPenalty === 1 ? [...generated] : [...promptTokens, ...generated]),
      maxPunishTokens: contextSize,
      penalty: repetitionPenalty,
      presencePenalty,
      frequencyPenalty,
    },
  }
}
