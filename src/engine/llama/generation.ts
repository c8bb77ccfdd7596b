import {
  type LlamaContextSequence,
  LlamaGrammarEvaluationState,
  type SequenceEvaluateOptions,
  type Token,
} from 'node-llama-cpp'
import { requireGrammar } from '../grammar/answer-grammar.ts'
import type { Ending, GenerationEvent, GenerationOptions, Prompt, TokenLogprob } from './language-model.ts'
import { distributionOptions, evaluateOptions, toToken } from '../requests/sampling-options.ts'
import type { StepGate } from './step-gate.ts'
import { StopMatcher } from '../answers/stop-matcher.ts'
import { drawToken, seededRandom } from './token-draw.ts'
import { logprobOf, sortedCandidates } from '../answers/token-logprobs.ts'
import { TokenText } from '../answers/token-text.ts'

/**
 * How many tokens of a prompt are computed in one step. Other requests generate one token in each step, so a long
 * prompt must not hold them up, and a client that leaves is noticed after one step. Larger steps were not faster (CPU,
 * SmolLM2).
 */
const promptStepTokens = 128

/** A sequence of the model's context, and the gate that lets it compute together with the others. */
export interface ComputingSequence {
  readonly sequence: LlamaContextSequence
  readonly gate: StepGate
  /** Its index among the sequences of the context. */
  readonly order: number
}

/**
 * Removes from the sequence everything from the first token that differs from the prompt, and returns how many tokens
 * can be reused. The last token of the prompt is always computed again.
 */
export async function alignSequence(sequence: LlamaContextSequence, tokens: readonly Token[]): Promise<number> {
  await sequence.adaptStateToTokens(tokens.slice(0, -1), false)
  return sequence.nextTokenIndex
}

/** Continues an aligned sequence until an end token, a stop string or `maxTokens`. */
export async function* generate(
  computing: ComputingSequence,
  prompt: Prompt,
  options: GenerationOptions,
  signal: AbortSignal,
): AsyncGenerator<GenerationEvent, void, undefined> {
  const { model } = computing.sequence
  // With tools, the special tokens must be visible: they mark the beginning and the end of a call.
  const showSpecial = prompt.toolSyntax !== undefined
  const text = new TokenText((tokens, preceding) => model.detokenize(tokens, showSpecial, preceding), prompt.tokens)
  const matcher = new StopMatcher([...options.stop, ...prompt.endings])
  let ending: Ending = { finishReason: 'length', stopReason: null }
  let completionTokens = 0
  let logprobs: TokenLogprob[] | undefined = options.logprobs === undefined ? undefined : []
  const piece = (shown: string): GenerationEvent => {
    const event = { type: 'text', text: shown, completionTokens, logprobs } as const
    if (logprobs) logprobs = []
    return event
  }

  if (prompt.opening) yield { type: 'text', text: prompt.opening, completionTokens: 0 }
  for await (const { token, logprob } of tokensOf(computing, prompt, options, signal)) {
    completionTokens += 1
    if (model.isEogToken(token) && !options.ignoreEnd) {
      ending = { finishReason: 'stop', stopReason: null }
      break
    }
    if (logprob) logprobs?.push(logprob)
    const found = matcher.push(text.push(token))
    if (found.text) yield piece(found.text)
    if (found.stop !== undefined) {
      const stopReason = options.stop.includes(found.stop) ? found.stop : null
      yield { type: 'end', finishReason: 'stop', stopReason, completionTokens }
      return
    }
    if (completionTokens >= options.maxTokens) break
    // Checked again after the consumer took the text, since it may have left in the meantime and the next step costs a
    // computation.
    signal.throwIfAborted()
  }
  const tail = matcher.push(text.flush())
  const remaining = tail.stop === undefined ? tail.text + matcher.flush() : tail.text
  if (remaining) yield piece(remaining)
  yield { type: 'end', ...ending, completionTokens }
}

interface GeneratedToken {
  readonly token: Token
  readonly logprob: TokenLogprob | undefined
}

/** The tokens of an answer, one computation each; it never ends by itself. */
async function* tokensOf(
  computing: ComputingSequence,
  prompt: Prompt,
  options: GenerationOptions,
  signal: AbortSignal,
): AsyncGenerator<GeneratedToken, void, undefined> {
  const { sequence } = computing
  const { sampling, logprobs } = options
  const rest = await computePrompt(computing, prompt.tokens, signal)
  const generated: Token[] = []
  const history = { model: sequence.model, promptTokens: prompt.tokens, generated, contextSize: sequence.contextSize }
  if (logprobs === undefined) {
    const evaluation = { ...evaluateOptions(sampling, history), ...grammarOptions(sequence, options) }
    const sampled = sequence.evaluateWithMetadata(rest, {}, evaluation)
    for await (const { token } of inStep(computing, sampled, () => undefined, signal)) {
      generated.push(token)
      yield { token, logprob: undefined }
    }
    return
  }
  const random = seededRandom(sampling.seed)
  const distributions = sequence.evaluateWithMetadata(
    rest,
    { probabilities: true },
    distributionOptions(sampling, history),
  )
  const lastGenerated = () => generated.at(-1)
  for await (const { probabilities } of inStep(computing, distributions, lastGenerated, signal)) {
    const candidates = sortedCandidates(probabilities)
    const token = toToken(drawToken(candidates, sampling, random))
    generated.push(token)
    yield { token, logprob: logprobOf(token, candidates, logprobs, sequence.model) }
  }
}

/** Takes the results of a sequence one by one, each computed in step with the other sequences. */
async function* inStep<Result>(
  { gate, order }: ComputingSequence,
  results: AsyncGenerator<Result, void, Token | undefined>,
  /** The token to continue with; undefined continues with the one that was sampled. */
  continuation: () => Token | undefined,
  signal: AbortSignal,
): AsyncGenerator<Result, void, undefined> {
  try {
    while (true) {
      const step = await gate.run(order, signal, () => results.next(continuation()))
      if (step.done) return
      yield step.value
    }
  } finally {
    await results.return()
  }
}

function grammarOptions(sequence: LlamaContextSequence, { constraint }: GenerationOptions): SequenceEvaluateOptions {
  if (!constraint) return {}
  const { model } = sequence
  return { grammarEvaluationState: new LlamaGrammarEvaluationState({ model, grammar: requireGrammar(constraint) }) }
}

/**
 * Computes a prompt in steps, except its last part, which is returned: the first generated token is computed with it.
 */
async function computePrompt(
  { sequence, gate, order }: ComputingSequence,
  tokens: readonly Token[],
  signal: AbortSignal,
): Promise<Token[]> {
  let at = sequence.nextTokenIndex
  while (tokens.length - at > promptStepTokens) {
    const part = tokens.slice(at, at + promptStepTokens)
    await gate.run(order, signal, () => sequence.evaluateWithoutGeneratingNewTokens(part))
    at += promptStepTokens
  }
  return tokens.slice(at)
}
