import type { AnswerStats, AssistantMessage } from './conversation.ts'
import { lastTimeSentence } from '../protocol/loading.ts'
import { phaseOf, type ModelEntry } from '../protocol/model-list.ts'
import { unreachable } from '../unreachable.ts'
import { wakingSentence, withoutPodNames } from './waking-words.ts'

/** The line under an answer, e.g. `24 tokens · 31 tokens/s · first token 0.42 s`. */
export function statsText(stats: AnswerStats, woke: boolean): string {
  const parts: string[] = []
  if (stats.completionTokens !== null) {
    parts.push(stats.completionTokens === 1 ? '1 token' : `${stats.completionTokens} tokens`)
    const rate = tokensPerSecond(stats)
    if (rate !== undefined) parts.push(`${rate < 10 ? rate.toFixed(1) : Math.round(rate)} tokens/s`)
  }
  const seconds = stats.firstTokenMs / 1000
  parts.push(`first token ${seconds < 10 ? seconds.toFixed(2) : seconds.toFixed(1)} s${woke ? ' with waking' : ''}`)
  return parts.join(' · ')
}

function tokensPerSecond(stats: AnswerStats): number | undefined {
  // The time to the first token belongs to the prompt (and the wake), so the speed is that of the tokens after it.
  const tokens = (stats.completionTokens ?? 0) - 1
  return tokens > 0 && stats.generationMs >= 1 ? (tokens * 1000) / stats.generationMs : undefined
}

export interface WaitText {
  waking: boolean
  headline: string
  detail: string
  /** How much is done of what takes long, if that is known. */
  percent?: number | undefined
}

export interface ObservedModel {
  entry: ModelEntry | undefined
  /** When the model list with this state was requested. */
  observedAt: number
}

/** What is shown for an answer that has no text yet. */
export function waitText(answer: AssistantMessage, model: ObservedModel, now: number): WaitText {
  const elapsed = elapsedText(now - answer.askedAt)
  // The list may be a few seconds old, so the gateway's own comments in the stream count unless the list is newer.
  const newerList = model.observedAt > Math.max(answer.askedAt, answer.wakingHeardAt)
  if (answer.woke && newerList && model.entry?.phase === 'Ready') {
    return { waking: false, headline: `${answer.model} is awake and reads your message… ${elapsed}`, detail: '' }
  }
  if (answer.woke) {
    return { waking: true, headline: `Waking ${answer.model}… ${elapsed}`, ...wakingText(answer, model) }
  }
  return { waking: false, headline: `Waiting for ${answer.model}… ${elapsed}`, detail: '' }
}

/** What a waking model does, from the list if that is about this wait, else in the words of the gateway. */
function wakingText(answer: AssistantMessage, { entry, observedAt }: ObservedModel) {
  const isOfThisWait = observedAt > answer.askedAt && entry?.phase === 'Waking'
  const told = isOfThisWait ? wakingSentence(entry) : ''
  const detail = told || withoutPodNames(answer.wakingDetail) || lastTimeSentence(entry?.lastLoadSeconds)
  return { detail, percent: isOfThisWait ? entry.loading?.percent : undefined }
}

export function elapsedText(elapsedMs: number): string {
  const seconds = Math.max(0, Math.floor(elapsedMs / 1000))
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`
}

/** The sentence of an empty chat: what happens when somebody writes to this model. */
export function modelSentence(model: ModelEntry): string {
  const phase = phaseOf(model)
  switch (phase) {
    case 'Asleep':
      return `${model.id} is asleep and costs nothing; it wakes when you write.`
    case 'Waking':
      return [`${model.id} is waking up.`, wakingSentence(model), 'Write already: it answers as soon as it is ready.']
        .filter((sentence) => sentence !== '')
        .join(' ')
    case 'Ready':
      return `${model.id} is awake. It goes back to sleep when nobody asks.`
    case 'Draining':
      return `${model.id} is going to sleep; it wakes again when you write.`
    case 'Failed':
      return failedSentence(model)
    case 'Unknown':
      return `${model.id} wakes when you write and sleeps when nobody asks.`
    default:
      return unreachable(phase)
  }
}

function failedSentence({ id, message }: ModelEntry): string {
  const why = withoutPodNames(message)
    .replace(/^Asleep, and cannot wake: /, '')
    .replace(/\.$/, '')
  return `${id} could not start${why === '' ? '' : `: ${why}`}. Writing tries again.`
}
