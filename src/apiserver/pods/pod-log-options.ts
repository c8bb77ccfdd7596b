import { type FieldError, forbidden, invalid } from '../../resources/field-error.ts'
import { StatusError, invalidObject } from '../../resources/status-error.ts'
import type { LogOptions } from './pod-access.ts'
import { isSet } from '../http/request-options.ts'

const kind = { group: '', kind: 'PodLogOptions', plural: 'podlogoptions' }
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

/** Reads the options of a log request, and checks them before the Pod is looked for, as Kubernetes does. */
export function readLogOptions(query: URLSearchParams, name: string): Omit<LogOptions, 'container'> {
  const tailLines = readWhole(query, 'tailLines')
  const sinceSeconds = readWhole(query, 'sinceSeconds')
  const limitBytes = readWhole(query, 'limitBytes')
  const sinceTime = readTime(query)
  const errors: FieldError[] = []
  if (tailLines !== undefined && tailLines < 0) {
    errors.push(invalid('tailLines', tailLines, 'must be greater than or equal to 0'))
  }
  if (limitBytes !== undefined && limitBytes < 1)
    errors.push(invalid('limitBytes', limitBytes, 'must be greater than 0'))
  if (sinceSeconds !== undefined && sinceTime !== undefined) {
    errors.push(forbidden('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'))
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    errors.push(invalid('sinceSeconds', sinceSeconds, 'must be greater than 0'))
  }
  if (query.has('stream')) errors.push(forbidden('stream', 'may not be specified'))
  if (errors.length > 0) throw invalidObject(kind, name, errors)
  return {
    follow: isSet(query, 'follow'),
    tailLines,
    sinceSeconds,
    sinceTime,
    limitBytes,
    timestamps: isSet(query, 'timestamps'),
    previous: isSet(query, 'previous'),
  }
}

function readWhole(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? ''
  if (text === '') return undefined
  const shown = JSON.stringify(text.slice(0, 64))
  if (!/^[+-]?\d+$/.test(text))
    throw new StatusError('BadRequest', `strconv.ParseInt: parsing ${shown}: invalid syntax`)
  const value = Number(text)
  if (Number.isSafeInteger(value)) return value
  throw new StatusError('BadRequest', `strconv.ParseInt: parsing ${shown}: value out of range`)
}

function readTime(query: URLSearchParams): string | undefined {
  const text = query.get('sinceTime') ?? ''
  if (text === '') return undefined
  if (rfc3339.test(text) && !Number.isNaN(Date.parse(text))) return text
  const shown = JSON.stringify(text.slice(0, 64))
  throw new StatusError('BadRequest', `parsing time ${shown} as "2006-01-02T15:04:05Z07:00": it is not RFC 3339`)
}
