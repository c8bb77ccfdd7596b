import type { User } from '../access/identity/user.ts'

/**
 * A line of an audit log: `audit.k8s.io/v1`, of level Metadata. It has what a real API server says at that level,
 * except for what quotes a request: the message and the details of a refusal.
 */
export interface AuditEvent {
  readonly kind: 'Event'
  readonly apiVersion: 'audit.k8s.io/v1'
  readonly level: 'Metadata'
  readonly auditID: string
  /** `ResponseStarted`: of a connection that stays open, whose `ResponseComplete` comes when it ends. */
  readonly stage: 'ResponseStarted' | 'ResponseComplete'
  readonly requestURI: string
  readonly verb: string
  /** Nobody, when the credential was not accepted. */
  readonly user: AuditedUser
  readonly impersonatedUser?: AuditedUser | undefined
  /** As proxies on the way tell it, which anybody can claim to be; the last one is the connection's own. */
  readonly sourceIPs: readonly string[]
  readonly userAgent?: string | undefined
  readonly objectRef?: AuditedObject | undefined
  readonly responseStatus: AuditedStatus
  readonly requestReceivedTimestamp: string
  readonly stageTimestamp: string
  readonly annotations: Readonly<Record<string, string>>
}

export interface AuditedUser {
  readonly username?: string | undefined
  readonly uid?: string | undefined
  readonly groups?: readonly string[] | undefined
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined
}

export interface AuditedObject {
  readonly resource: string
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly uid?: string | undefined
  readonly apiGroup?: string | undefined
  readonly apiVersion?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly subresource?: string | undefined
}

export interface AuditedStatus {
  readonly metadata: Readonly<Record<string, never>>
  readonly status?: 'Failure' | undefined
  readonly reason?: string | undefined
  readonly code: number
}

/** Takes an event without waiting for anything, and never throws: a request must not fail because of its line. */
export type Audit = (event: AuditEvent) => void

export function auditedUser({ name, uid, groups, extra }: User): AuditedUser {
  return { username: name, uid, groups, extra }
}

/** With microseconds, as the real server writes it. */
export function microTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}000Z`
}
