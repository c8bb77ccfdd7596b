import { z } from 'zod'
import { StatusError, type StatusReason } from '../../resources/status-error.ts'

const statusSchema = z.looseObject({
  kind: z.literal('Status'),
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.int().optional(),
  details: z
    .looseObject({
      name: z.string().optional(),
      group: z.string().optional(),
      kind: z.string().optional(),
      uid: z.string().optional(),
      causes: z
        .array(
          z.looseObject({
            reason: z.string().default(''),
            message: z.string().default(''),
            field: z.string().default(''),
          }),
        )
        .optional(),
      retryAfterSeconds: z.number().optional(),
    })
    .optional(),
})

const longestExcerpt = 200

/**
 * The refusal in a server's answer: a `Status`, or whatever a proxy in between has to say. `retryAfterSeconds` is what
 * its headers say.
 */
export function statusErrorOf(code: number, body: unknown, retryAfterSeconds?: number): StatusError {
  const parsed = statusSchema.safeParse(body)
  if (!parsed.success) {
    const excerpt = typeof body === 'string' ? body.slice(0, longestExcerpt) : ''
    const details = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
    return new StatusError(reasonOf(undefined, code), `the server answered ${code}: ${excerpt}`, details, { code })
  }
  const status = parsed.data
  const { name, group, kind, uid, causes, retryAfterSeconds: said } = status.details ?? {}
  return new StatusError(
    reasonOf(status.reason, status.code ?? code),
    status.message ?? `the server answered ${code}`,
    { name, group, kind, uid, ...(causes ? { causes } : {}), retryAfterSeconds: said ?? retryAfterSeconds },
    { code: status.code ?? code },
  )
}

/** The reasons for each code; the first is assumed when the answer names none. */
const reasonsByCode = new Map<number, readonly [StatusReason, ...StatusReason[]]>([
  [400, ['BadRequest']],
  [401, ['Unauthorized']],
  [403, ['Forbidden']],
  [404, ['NotFound']],
  [405, ['MethodNotAllowed']],
  [406, ['NotAcceptable']],
  [409, ['Conflict', 'AlreadyExists']],
  [410, ['Expired', 'Gone']],
  [413, ['RequestEntityTooLarge']],
  [415, ['UnsupportedMediaType']],
  [422, ['Invalid']],
  [429, ['TooManyRequests']],
  [500, ['InternalError']],
  [501, ['NotImplemented']],
  [503, ['ServiceUnavailable']],
  [504, ['Timeout']],
])

function reasonOf(said: string | undefined, code: number): StatusReason {
  for (const reasons of reasonsByCode.values()) {
    const known = reasons.find((reason) => reason === said)
    if (known) return known
  }
  return reasonsByCode.get(code)?.[0] ?? 'InternalError'
}
