import { type FieldError, invalid } from '../../resources/field-error.ts'
import type { Kind } from '../../resources/kind.ts'
import { timestamp } from '../../resources/kubernetes-object.ts'
import { StatusError, invalidObject } from '../../resources/status-error.ts'
import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'
import type { Attempt } from './attempt.ts'
import { showRule } from './roles/policy-rule.ts'
import type { Authorizer } from './roles/rbac-authorizer.ts'
import { type User, userInfo } from './identity/user.ts'

export interface ReviewRequest {
  readonly kind: Kind
  readonly namespace: string | undefined
  readonly body: JsonObject
  readonly user: User
  readonly now: number
}

/** Finds whose token it is, for these audiences (the server's own when none are given). */
export type ReviewToken = (
  token: string,
  audiences: readonly string[],
) => { readonly user: User; readonly audiences: readonly string[] } | undefined

/**
 * Answers the kinds that are questions about access (`SubjectAccessReview` and the like): they are answered, never
 * stored. `undefined`: the request is not one of them.
 */
export function answerReview(
  request: ReviewRequest,
  authorizer: Authorizer,
  reviewToken: ReviewToken,
): JsonObject | undefined {
  const { kind, namespace, user, body, now } = request
  const spec = isJsonObject(body['spec']) ? body['spec'] : {}
  const shown = (status: JsonObject, rest: JsonObject = { spec }) => ({
    kind: kind.kind,
    apiVersion: `${kind.group}/${kind.version}`,
    metadata: { ...(namespace !== undefined && { namespace }) },
    ...rest,
    status,
  })
  switch (kind.kind) {
    case 'SelfSubjectAccessReview':
      return shown(decide(authorizer, user, readAttempt(kind, spec)))
    case 'SubjectAccessReview':
      return shown(decide(authorizer, readSubject(kind, spec), readAttempt(kind, spec)))
    case 'LocalSubjectAccessReview':
      return shown(decide(authorizer, readSubject(kind, spec), readLocalAttempt(kind, spec, namespace ?? '')))
    case 'SelfSubjectRulesReview':
      return shown(rulesStatus(authorizer, user, spec), { spec: {} })
    case 'TokenReview':
      return shown(tokenStatus(spec, reviewToken))
    case 'SelfSubjectReview':
      return {
        ...shown({ userInfo: userInfo(user) }, {}),
        metadata: { creationTimestamp: timestamp(now) },
      }
    default:
      return undefined
  }
}

function decide(authorizer: Authorizer, user: User, attempt: Attempt): JsonObject {
  const { allowed, reason } = authorizer.decide(user, attempt)
  return { allowed, ...(reason !== '' && { reason }) }
}

function readAttempt(kind: Kind, spec: JsonObject): Attempt {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec
  if (isJsonObject(resource) && isJsonObject(path)) {
    const why = 'cannot be specified in combination with resourceAttributes'
    throw refused(kind, invalid('spec.nonResourceAttributes', path, why))
  }
  if (isJsonObject(path)) return { type: 'path', verb: text(path, 'verb') ?? '', path: text(path, 'path') ?? '' }
  if (isJsonObject(resource)) {
    return {
      type: 'resource',
      verb: text(resource, 'verb') ?? '',
      group: text(resource, 'group') ?? '',
      resource: text(resource, 'resource') ?? '',
      subresource: text(resource, 'subresource'),
      namespace: text(resource, 'namespace'),
      name: text(resource, 'name'),
    }
  }
  const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
  throw refused(kind, invalid('spec.resourceAttributes', null, why))
}

function readLocalAttempt(kind: Kind, spec: JsonObject, namespace: string): Attempt {
  const { nonResourceAttributes: path, resourceAttributes: resource } = spec
  if (isJsonObject(path)) {
    throw refused(kind, invalid('spec.nonResourceAttributes', path, 'disallowed on this kind of request'))
  }
  const asked = isJsonObject(resource) ? (text(resource, 'namespace') ?? '') : namespace
  if (asked !== namespace) {
    throw refused(kind, invalid('spec.resourceAttributes.namespace', asked, 'must match metadata.namespace'))
  }
  return readAttempt(kind, spec)
}

function readSubject(kind: Kind, spec: JsonObject): User {
  const groups = texts(spec['groups'])
  const name = text(spec, 'user') ?? ''
  if (name === '' && groups.length === 0) {
    throw refused(kind, invalid('spec.user', '', 'at least one of user or group must be specified'))
  }
  return { name, groups, uid: text(spec, 'uid') }
}

function rulesStatus(authorizer: Authorizer, user: User, spec: JsonObject): JsonObject {
  const namespace = text(spec, 'namespace') ?? ''
  if (namespace === '') throw new StatusError('BadRequest', 'no namespace on request')
  const { rules, error } = authorizer.rulesOf(user, namespace)
  const distinct = [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()]
  return {
    resourceRules: distinct.filter(({ resources }) => resources.length > 0).map((rule) => showRule(rule)),
    nonResourceRules: distinct.filter((rule) => rule.nonResourceURLs.length > 0).map((rule) => showRule(rule)),
    incomplete: false,
    ...(error !== '' && { evaluationError: error }),
  }
}

function tokenStatus(spec: JsonObject, reviewToken: ReviewToken): JsonObject {
  const token = text(spec, 'token') ?? ''
  if (token === '') throw new StatusError('BadRequest', 'token is required for TokenReview in authentication')
  const known = reviewToken(token, texts(spec['audiences']))
  if (!known) return { user: {}, error: 'invalid bearer token' }
  return { authenticated: true, user: userInfo(known.user), audiences: known.audiences }
}

/** In these kinds an empty string means the same as no value. */
function text(from: JsonObject, field: string): string | undefined {
  const value = from[field]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function refused({ group }: Kind, error: FieldError): StatusError {
  return invalidObject({ group, plural: '', kind: '' }, '', [error])
}
