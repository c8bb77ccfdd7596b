import { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'
import { refuseTooMany } from './request-limits.ts'
import { type RequestKind, refuseUnsupported } from '../requests/supported-parameters.ts'

/** Parses a body by its schema. The error for a body that does not match says where it differs. */
export function parseBody<T>(kind: RequestKind, schema: z.ZodType<T>, body: unknown): T {
  const object = z.record(z.string(), z.unknown()).safeParse(body)
  if (!object.success) throw new SluiceError('invalid_request', { reason: 'The request body must be a JSON object.' })
  refuseUnsupported(kind, object.data)
  refuseTooMany(object.data)
  const parsed = schema.safeParse(object.data)
  if (parsed.success) return parsed.data
  const issue = deepestIssue(parsed.error.issues)
  const param = issue ? formatPath(issue.path) : ''
  throw new SluiceError('invalid_request', { reason: `${param || 'body'}: ${issue?.message ?? 'invalid'}.`, param })
}

interface Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** Of the complaints about a value that matches none of several shapes, the one that got deepest: it says most. */
function deepestIssue(issues: readonly z.core.$ZodIssue[], prefix: readonly PropertyKey[] = []): Issue | undefined {
  let deepest: Issue | undefined
  for (const issue of issues) {
    const path = [...prefix, ...issue.path]
    const nested = issue.code === 'invalid_union' ? issue.errors.map((branch) => deepestIssue(branch, path)) : []
    const candidates = [{ path, message: issue.message }, ...nested].filter((candidate) => candidate !== undefined)
    for (const candidate of candidates) if (!deepest || candidate.path.length > deepest.path.length) deepest = candidate
  }
  return deepest
}

function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}${text && '.'}${String(key)}`),
    '',
  )
}
