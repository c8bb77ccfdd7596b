import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../foundation/clock.ts'
import type { Attempt, Decision } from '../access/attempt.ts'
import type { User } from '../access/identity/user.ts'
import { type Audit, type AuditedObject, type AuditedUser, auditedUser, microTime } from './audit-event.ts'
import { sourceIPsOf } from './source-ips.ts'

export interface AuditedFacts {
  readonly request: IncomingMessage
  readonly attempt: Attempt
  /** Of the address without the prefix of the cluster. */
  readonly segments: readonly string[]
  readonly clusterId: string
  readonly clock: Clock
  readonly write: Audit
}

const writingVerbs = new Set(['create', 'update', 'patch', 'delete', 'deletecollection', 'post', 'put'])
/** Who uses these acts on a Pod, whatever the method. */
const connecting = new Set(['exec', 'attach', 'portforward', 'proxy'])
/** As in the real server. */
const longestId = 64
const longestUserAgent = 1_024
/** More than any name, UID or version has that is accepted. */
const longestBodyText = 256
/** What nginx calls it: the client left before it was answered. */
const clientLeft = 499

/** Whether a line is written about it: whatever changes something or reaches into a Pod. */
export function isAudited(attempt: Attempt): boolean {
  if (writingVerbs.has(attempt.verb)) return true
  return attempt.type === 'resource' && attempt.subresource !== undefined && connecting.has(attempt.subresource)
}

/** What an audit line says about a request, gathered while it is answered. */
export class AuditedRequest {
  /** The client's own, where it gave one: so it can follow a request through several servers. */
  readonly id: string
  readonly #facts: AuditedFacts
  readonly #receivedAt: number
  #user: AuditedUser = {}
  #impersonated: AuditedUser | undefined
  #annotations: Readonly<Record<string, string>>
  #object: AuditedObject | undefined
  #reason: string | undefined

  constructor(facts: AuditedFacts) {
    this.#facts = facts
    const { headers } = facts.request
    const given = headers['audit-id']
    this.id = typeof given === 'string' && given !== '' ? given.slice(0, longestId) : randomUUID()
    this.#receivedAt = facts.clock.now()
    this.#annotations = { 'sluice.dev/cluster': facts.clusterId }
    this.#object = objectOf(facts)
  }

  /** Who asks, and as whom. */
  by(user: User, as?: User): void {
    this.#user = auditedUser(user)
    this.#impersonated = as && auditedUser(as)
  }

  decided({ allowed, reason }: Decision): void {
    const decision = allowed ? 'allow' : 'forbid'
    this.#annotations = {
      'authorization.k8s.io/decision': decision,
      'authorization.k8s.io/reason': reason,
      ...this.#annotations,
    }
  }

  /** What policies say about it; nobody says something a second time. */
  annotate(key: string, value: string): void {
    if (!Object.hasOwn(this.#annotations, key)) this.#annotations = { ...this.#annotations, [key]: value }
  }

  /** What the address does not say of the object: its name when it is new, which UID and version are meant. */
  about(body: unknown): void {
    if (!this.#object || typeof body !== 'object' || body === null || !('metadata' in body)) return
    const { name, uid, resourceVersion } = textsOf(body.metadata)
    this.#object = {
      ...this.#object,
      name: this.#object.name ?? name,
      uid: this.#object.uid ?? uid,
      resourceVersion: this.#object.resourceVersion ?? resourceVersion,
    }
  }

  /** A name that the cluster made. */
  named(name: string): void {
    if (this.#object?.name === undefined && this.#object) this.#object = { ...this.#object, name }
  }

  refused(reason: string): void {
    this.#reason = reason
  }

  /** A connection that may stay open for long: who opened it is written down now. */
  started(code: number): void {
    this.#write('ResponseStarted', code)
  }

  /** `undefined`: nothing was answered. */
  completed(code: number | undefined): void {
    this.#write('ResponseComplete', code ?? clientLeft)
  }

  #write(stage: 'ResponseStarted' | 'ResponseComplete', code: number): void {
    const { request, attempt, clock, write } = this.#facts
    const failed = code >= 400
    write({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: this.id,
      stage,
      requestURI: shownAddress(request.url ?? '', attempt),
      verb: attempt.verb,
      user: this.#user,
      impersonatedUser: this.#impersonated,
      sourceIPs: sourceIPsOf(request),
      userAgent: shortened(request.headers['user-agent']),
      objectRef: this.#object,
      responseStatus: { metadata: {}, ...(failed && { status: 'Failure', reason: this.#reason }), code },
      requestReceivedTimestamp: microTime(this.#receivedAt),
      stageTimestamp: microTime(clock.now()),
      annotations: this.#annotations,
    })
  }
}

function objectOf({ attempt, segments }: AuditedFacts): AuditedObject | undefined {
  if (attempt.type === 'path') return undefined
  const { resource, namespace, name, group, subresource } = attempt
  const apiVersion = segments[0] === 'api' ? segments[1] : segments[2]
  return { resource, namespace, name, apiGroup: group === '' ? undefined : group, apiVersion, subresource }
}

/** What is asked of a program in a Pod may have a secret in its query; what is asked of this server has none. */
function shownAddress(url: string, attempt: Attempt): string {
  if (attempt.type !== 'resource' || attempt.subresource !== 'proxy') return url
  const question = url.indexOf('?')
  return question < 0 ? url : url.slice(0, question)
}

function shortened(userAgent: string | undefined): string | undefined {
  if (userAgent === undefined || userAgent.length <= longestUserAgent) return userAgent
  return `${userAgent.slice(0, longestUserAgent)}...TRUNCATED`
}

function textsOf(metadata: unknown): { name?: string; uid?: string; resourceVersion?: string } {
  if (typeof metadata !== 'object' || metadata === null) return {}
  const texts: Record<string, string> = {}
  for (const [key, value] of Object.entries(metadata)) {
    const isWanted = key === 'name' || key === 'uid' || key === 'resourceVersion'
    if (isWanted && typeof value === 'string' && value !== '') texts[key] = value.slice(0, longestBodyText)
  }
  return texts
}
