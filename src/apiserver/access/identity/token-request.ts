import { type FieldError, invalid } from '../../../resources/field-error.ts'
import { type KubernetesObject, timestamp } from '../../../resources/kubernetes-object.ts'
import { StatusError, invalidObject } from '../../../resources/status-error.ts'
import { type JsonObject, isJsonObject } from '../../../resources/json-value.ts'
import { type BoundKind, type ServiceAccountTokens, boundKinds } from './service-account-tokens.ts'

export const tokenRequestKind = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' }
const tokenRequest = { ...tokenRequestKind, plural: 'tokenrequests' }
const defaultSeconds = 3600
const leastSeconds = 600
const mostSeconds = 2 ** 32
const mostAudiences = 64

/** Finds the object that a token is to be bound to; throws NotFound. */
export type FindBound = (kind: BoundKind, name: string) => KubernetesObject

/** Answers `POST serviceaccounts/NAME/token`: the TokenRequest with its token filled in. */
export function answerTokenRequest(
  body: unknown,
  account: KubernetesObject,
  options: {
    readonly tokens: ServiceAccountTokens
    readonly find: FindBound
    /** Asked before the token is made; throws its refusal. */
    readonly judge?: ((request: JsonObject) => void) | undefined
    readonly now: number
  },
): JsonObject {
  const { tokens, find, judge, now } = options
  const spec = readSpec(body)
  const audiences = readAudiences(spec['audiences'], tokens.defaultAudiences)
  const expirationSeconds = readExpiration(spec['expirationSeconds'])
  const bound = readBound(spec['boundObjectRef'], find)
  const { name, namespace, uid } = account.metadata
  const request = {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace, uid, creationTimestamp: timestamp(now) },
    spec: { audiences, expirationSeconds, boundObjectRef: spec['boundObjectRef'] ?? null },
  }
  judge?.(request)
  const token = tokens.issue({ account, audiences, expirationSeconds, bound, now })
  const expiresAt = Math.floor(now / 1000) * 1000 + expirationSeconds * 1000
  return { ...request, status: { token, expirationTimestamp: timestamp(expiresAt) } }
}

function readSpec(body: unknown): JsonObject {
  if (!isJsonObject(body)) throw new StatusError('BadRequest', 'the body must be a TokenRequest')
  const { kind = 'TokenRequest', spec } = body
  if (kind !== 'TokenRequest') {
    throw new StatusError('BadRequest', `${String(kind).slice(0, 63)} cannot be handled as a TokenRequest`)
  }
  if (spec === undefined || spec === null) return {}
  if (!isJsonObject(spec)) throw new StatusError('BadRequest', 'spec must be an object')
  return spec
}

function readAudiences(value: unknown, otherwise: readonly string[]): readonly string[] {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return otherwise
  const audiences = Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
  if (!Array.isArray(value) || audiences.length !== value.length || audiences.length > mostAudiences) {
    throw new StatusError('BadRequest', `spec.audiences must be a list of at most ${mostAudiences} strings`)
  }
  return audiences
}

function readExpiration(value: unknown): number {
  if (value === undefined || value === null) return defaultSeconds
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw new StatusError('BadRequest', 'spec.expirationSeconds must be a whole number')
  }
  const field = 'spec.expirationSeconds'
  if (value < leastSeconds) throw refused(invalid(field, value, 'may not specify a duration less than 10 minutes'))
  if (value > mostSeconds) throw refused(invalid(field, value, 'may not specify a duration larger than 2^32 seconds'))
  return value
}

function refused(error: FieldError): StatusError {
  return invalidObject(tokenRequest, '', [error])
}

function readBound(value: unknown, find: FindBound): { kind: BoundKind; object: KubernetesObject } | undefined {
  if (value === undefined || value === null) return undefined
  if (!isJsonObject(value)) throw new StatusError('BadRequest', 'spec.boundObjectRef must be an object')
  const { kind, apiVersion = '', name, uid } = value
  if (apiVersion !== 'v1' || typeof kind !== 'string' || !isBoundKind(kind)) {
    const type = `${String(apiVersion).includes('/') ? '' : '/'}${String(apiVersion)}, Kind=${String(kind)}`
    throw new StatusError('BadRequest', `cannot bind token to object of type ${type.slice(0, 200)}`)
  }
  const object = find(kind, typeof name === 'string' ? name : '')
  if (typeof uid === 'string' && uid !== '' && uid !== object.metadata.uid) {
    const why = `the UID in the bound object reference (${uid.slice(0, 63)}) does not match the UID in record. The object might have been deleted and then recreated`
    const details = { name: object.metadata.name, kind: boundKinds[kind].resource }
    const what = `${boundKinds[kind].resource} "${object.metadata.name}"`
    throw new StatusError('Conflict', `Operation cannot be fulfilled on ${what}: ${why}`, details)
  }
  return { kind, object }
}

function isBoundKind(kind: string): kind is BoundKind {
  return Object.hasOwn(boundKinds, kind)
}
