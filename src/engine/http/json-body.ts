import type { IncomingMessage } from 'node:http'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import { JsonShape } from '../grammar/json-shape.ts'
import { nextTurn } from '../llama/loop-turn.ts'

export const bodyLimitBytes = 32 * 1024 * 1024
/** Nothing that is done with a body up to this size takes long. */
const smallBytes = 32 * 1024

/** Reads a whole request body as JSON, within limits. `room` is how many tokens all texts in it may have together. */
export async function readJsonBody(request: IncomingMessage, signal: AbortSignal, room = Infinity): Promise<unknown> {
  const limitBytes = bodyLimitBytes
  const received = request.headers['content-type']
  if (received?.split(';')[0]?.trim().toLowerCase() !== 'application/json') {
    throw new SluiceError('unsupported_media_type', {
      expected: 'application/json',
      received: received ?? 'without a content type',
    })
  }
  if (Number(request.headers['content-length'] ?? 0) > limitBytes)
    throw new SluiceError('body_too_large', { limitBytes })
  const chunks: Buffer[] = []
  const shape = new JsonShape(room)
  let problem: SluiceError | undefined
  let size = 0
  const source: AsyncIterable<Buffer> = request
  for await (const chunk of source) {
    size += chunk.length
    if (size > limitBytes) throw new SluiceError('body_too_large', { limitBytes })
    problem ??= shape.take(chunk)
    // The rest is still read, because most clients read an answer only after they have sent their whole request.
    if (problem) chunks.length = 0
    else chunks.push(chunk)
  }
  if (problem) throw problem
  // With 32 MiB, decoding and parsing take about 0.1 s each.
  const turn = () => (size > smallBytes ? nextTurn(signal) : undefined)
  await turn()
  const text = attempt(() => new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)))
  await turn()
  const body = attempt((): unknown => JSON.parse(text))
  await turn()
  return body
}

function attempt<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new SluiceError('invalid_json', { reason: errorMessage(error) }, { cause: error })
  }
}
