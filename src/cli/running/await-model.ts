import { SluiceError } from '../../foundation/errors.ts'
import type { ClusterModels } from '../../platform/models/cluster-models.ts'
import type { Model } from '../../resources/model.ts'
import { modelSentence } from './model-sentence.ts'

export interface AwaitOptions {
  readonly name: string
  /** What is waited for, for the message when it does not happen: `That smollm2 wakes`. */
  readonly what: string
  readonly deadlineMs: number
  /** Tells the person what happens meanwhile. */
  readonly say: (sentence: string) => void
  /** `done` ends the waiting, an error ends it badly. */
  readonly judge: (model: Model) => 'done' | 'wait' | SluiceError
  readonly signal: AbortSignal
}

/** Follows a Model until it is as it should be. Resolves with undefined when the signal was aborted. */
export async function awaitModel(
  models: Pick<ClusterModels, 'follow'>,
  options: AwaitOptions,
): Promise<Model | undefined> {
  const { name, what, deadlineMs, say, judge } = options
  const overdue = AbortSignal.timeout(deadlineMs)
  const signal = AbortSignal.any([options.signal, overdue])
  let last: Model | undefined
  for await (const model of models.follow(name, signal)) {
    if (!model) throw new SluiceError('model_not_found', { model: name })
    last = model
    const verdict = judge(model)
    if (verdict === 'done') return model
    if (verdict !== 'wait') throw verdict
    say(modelSentence(model.status))
  }
  if (!overdue.aborted) return undefined
  const reason = last ? modelSentence(last.status) : 'the cluster said nothing about it.'
  throw new SluiceError('not_in_time', { what, seconds: deadlineMs / 1000, reason })
}
