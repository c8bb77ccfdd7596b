import { sharedOpening } from '../templates/shared-opening.ts'
import type { ChatTemplate } from '../templates/chat-template.ts'
import { promptStepTokens } from './context-limits.ts'
import type { LanguageModel } from './language-model.ts'
import type { Computing } from './native/computing.ts'
import type { GrowingContext } from './native/growing-context.ts'
import type { LoadedModel, Token } from './native/loaded-model.ts'
import type { Sequence } from './native/sequence.ts'
import { TokenSampler } from './native/token-sampler.ts'
import type { KeptOpenings } from './openings/kept-openings.ts'

/** How long a prompt is computed on a card before the first request. */
const firstPromptTokens = 32
/** Of a shorter opening, a file would cost what it spares. */
const leastKept = 16

export interface FirstComputation {
  readonly model: LoadedModel
  readonly context: GrowingContext
  readonly computing: Computing
  /** The conversation that the first request continues. */
  readonly sequence: Sequence
  readonly template: ChatTemplate
  readonly languageModel: LanguageModel
  /** Whether it computes on a card. */
  readonly gpu: boolean
  /** Where openings are kept, and the files that this one depends on. */
  readonly kept: { readonly openings: KeptOpenings; readonly model: string; readonly binary: string } | undefined
  readonly signal: AbortSignal
}

/**
 * Computes a first token. Only that shows whether a loaded model can compute, and it must be known before anybody is
 * told that the model is ready. Without cards it is the last token of what the template writes before every question,
 * so that the first answer need not begin there.
 */
export async function computeFirst(parts: FirstComputation): Promise<void> {
  const { model, context, computing, sequence, languageModel, gpu, signal } = parts
  const token = model.bos ?? 0
  // A model that pools its tokens into a vector generates no tokens.
  if (model.header.number(`${model.header.architecture}.pooling_type`) !== undefined) {
    await languageModel.embed([[token]], signal)
    return
  }
  const opening = gpu ? [] : await openingOf(parts)
  if (opening.length > 0) return computeOpening(parts, opening)
  // On a card, prompts and single tokens use different kernels, and the driver may have to compile both.
  for (const length of gpu ? [firstPromptTokens, 1] : [1]) {
    await compute(
      parts,
      Array.from({ length }, () => token),
    )
  }
  await computing.between(() => context.forget(sequence))
}

async function openingOf({ template, context, signal }: FirstComputation): Promise<readonly Token[]> {
  const opening = await sharedOpening(template, context.shape.length, signal)
  return opening.slice(0, promptStepTokens)
}

async function computeOpening(parts: FirstComputation, opening: readonly Token[]): Promise<void> {
  const { context, computing, sequence, kept } = parts
  const worthwhile = opening.length >= leastKept ? kept : undefined
  const place = await worthwhile?.openings.placeFor(worthwhile.model, worthwhile.binary)
  const isKept = place !== undefined && (await worthwhile?.openings.has(place)) === true
  const known = isKept && (await computing.between(() => context.recall(sequence, opening, place)))
  // The last one is computed in any case, as a proof.
  if (known) await computing.between((native) => sequence.keep(opening.length - 1, native))
  await compute(parts, opening.slice(sequence.tokens.length))
  if (known || place === undefined) return
  await worthwhile?.openings.keep(place, (draft) => computing.between(() => context.write(sequence, draft)))
}

async function compute(
  { model, computing, sequence, signal }: FirstComputation,
  tokens: readonly Token[],
): Promise<void> {
  const draw = { temperature: 0, topP: 1, topK: 0, minP: 0, seed: 0, logitBias: new Map<number, number>() }
  const penalties = { presencePenalty: 0, frequencyPenalty: 0, repetitionPenalty: 1 }
  const sampler = new TokenSampler(model, { ...draw, ...penalties }, { promptTokens: [], generated: [] }, undefined)
  try {
    await computing.compute({ sequence, tokens, sampler: sampler.prepare() }, signal)
  } finally {
    sampler.dispose()
  }
}
