import type { IncomingMessage } from 'node:http'
import { SluiceError, errorMessage } from '../foundation/errors.ts'

export const bodyLimitBytes = 32 * 1024 * 1024

/** Reads a request body whole, bounded, as JSON. */
export async function readJsonBody(request: IncomingMessage, limitBytes = bodyLimitBytes): Promise<unknown> {
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
  let size = 0
  const source: AsyncIterable<Buffer> = request
  for await (const chunk of source) {
    size += chunk.length
    if (size > limitBytes) throw new SluiceError('body_too_large', { limitBytes })
    chunks.push(chunk)
  }
  return parseJson(Buffer.concat(chunks))
}

function parseJson(bytes: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return value
  } catch (error) {
    throw new SluiceError('invalid_json', { reason: errorMessage(error) }, { cause: error })
  }
}
