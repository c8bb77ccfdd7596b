import type { Ending, GenerationEvent, GenerationOptions, Prompt, TokenLogprob } from './language-model.ts'
import { SluiceError } from '../../foundation/errors.ts'
import { requireGrammar } from '../grammar/answer-grammar.ts'
import { logprobOf, sortedCandidates } from '../answers/token-logprobs.ts'
import { StopMatcher } from '../answers/stop-matcher.ts'
import { TokenText } from '../answers/token-text.ts'
import type { Computing, Drawn } from './native/computing.ts'
import type { LoadedModel, Token } from './native/loaded-model.ts'
import type { Sequence } from './native/sequence.ts'
import { TokenSampler, wholeDistribution } from './native/token-sampler.ts'
import { promptStepTokens } from './context-limits.ts'
import { drawToken, seededRandom } from './token-draw.ts'

/** A conversation in the model's context, and who computes for all of them. */
export interface ComputingSequence {
  readonly model: LoadedModel
  readonly sequence: Sequence
  readonly computing: Computing
}

/**
 * Removes from the sequence everything from the first token that differs from the prompt, and returns how many tokens
 * can be reused. The last token of the prompt is always computed again.
 */
export async function alignSequence(
  { sequence, computing }: ComputingSequence,
  tokens: readonly Token[],
): Promise<number> {
  const shared = sequence.sharedWith(tokens.slice(0, -1))
  if (shared < sequence.tokens.length) await computing.between((context) => sequence.keep(shared, context))
  return sequence.tokens.length
}

/** Continues an aligned sequence until an end token, a stop string or `maxTokens`. */
export async function* generate(
  computing: ComputingSequence,
  prompt: Prompt,
  options: GenerationOptions,
  signal: AbortSignal,
): AsyncGenerator<GenerationEvent, void, undefined> {
  const { model } = computing
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
    if (model.isEndToken(token) && !options.ignoreEnd) {
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
  const { model } = computing
  const { sampling, logprobs } = options
  let rest: readonly Token[] = await computePrompt(computing, prompt.tokens, signal)
  const generated: Token[] = []
  const history = { promptTokens: prompt.tokens, generated }
  const asked = logprobs === undefined ? sampling : wholeDistribution(sampling)
  const sampler = new TokenSampler(model, asked, history, grammarState(model, options))
  const random = seededRandom(sampling.seed)
  try {
    while (true) {
      const drawn = await drawAfter(computing, rest, sampler, logprobs !== undefined, signal)
      const candidates = sortedCandidates(drawn.candidates)
      const token = logprobs === undefined ? drawn.token : drawToken(candidates, sampling, random)
      generated.push(token)
      rest = [token]
      yield { token, logprob: logprobs === undefined ? undefined : logprobOf(token, candidates, logprobs, model) }
    }
  } finally {
    sampler.dispose()
  }
}

async function drawAfter(
  { sequence, computing }: ComputingSequence,
  tokens: readonly Token[],
  sampler: TokenSampler,
  probabilities: boolean,
  signal: AbortSignal,
): Promise<Drawn> {
  const drawn = await computing.compute({ sequence, tokens, sampler: sampler.prepare(), probabilities }, signal)
  if (!drawn) throw new SluiceError('internal_error')
  return drawn
}

function grammarState(model: LoadedModel, { constraint }: GenerationOptions) {
  if (!constraint) return undefined
  return new model.addon.AddonGrammarEvaluationState(model.native, requireGrammar(constraint))
}

/**
 * Computes a prompt in steps, except its last part, which is returned: the first generated token is computed with it.
 */
async function computePrompt(
  { sequence, computing }: ComputingSequence,
  tokens: readonly Token[],
  signal: AbortSignal,
): Promise<readonly Token[]> {
  while (tokens.length - sequence.tokens.length > promptStepTokens) {
    const at = sequence.tokens.length
    await computing.compute({ sequence, tokens: tokens.slice(at, at + promptStepTokens) }, signal)
  }
  return tokens.slice(sequence.tokens.length)
}
