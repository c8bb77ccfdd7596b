import { AnswerError, failureFromResponse } from '../protocol/failure.ts'
import { isRecord, parseJson, textOf } from '../protocol/json-value.ts'

/** A speech model may have to wake first. */
const DEADLINE_MS = 5 * 60_000
const MAX_TEXT_CHARACTERS = 20_000

/** What was said, in the words of a model that transcribes. Throws AnswerError, or the signal's reason. */
export async function transcribe(
  speech: Blob,
  model: string,
  authorization: Record<string, string>,
  stop: AbortSignal,
): Promise<string> {
  const body = new FormData()
  body.set('model', model)
  body.set('response_format', 'json')
  body.set('file', speech, 'speech.wav')
  const signal = AbortSignal.any([stop, AbortSignal.timeout(DEADLINE_MS)])
  const response = await fetch('openai/v1/audio/transcriptions', {
    method: 'POST',
    headers: authorization,
    body,
    signal,
  })
  const text = await response.text()
  if (!response.ok) throw new AnswerError(failureFromResponse(response.status, text))
  const value = parseJson(text)
  if (!isRecord(value)) throw new AnswerError({ message: 'The speech model answered something else.', code: '' })
  return textOf(value['text']).trim().slice(0, MAX_TEXT_CHARACTERS)
}
