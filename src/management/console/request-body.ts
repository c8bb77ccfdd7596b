import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'

/** Enough for any manifest that a person edits. */
const limitBytes = 256 * 1024

/** How long it may take is the server's `requestTimeout`. */
export async function bodyText(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request) {
    if (!Buffer.isBuffer(part)) continue
    bytes += part.length
    if (bytes > limitBytes) throw new SluiceError('body_too_large', { limitBytes })
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

export async function jsonBody<T>(request: IncomingMessage, schema: z.ZodType<T>): Promise<T> {
  const parsed = schema.safeParse(parseJson(await bodyText(request)))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue?.path.join('.') || 'the body'
  throw new SluiceError('console_input', { reason: `${where}: ${issue?.message ?? 'is not as expected'}` })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new SluiceError('invalid_json', { reason: error instanceof Error ? error.message : '' }, { cause: error })
  }
}
