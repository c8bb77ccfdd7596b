import { readFileSync } from 'node:fs'

/** A request that the API server was asked, by its audit log. */
export interface AskedRequest {
  readonly verb: string
  readonly resource: string
  readonly subresource: string | undefined
  readonly name: string | undefined
  readonly user: string
  readonly code: number | undefined
  /** When the server got it, in milliseconds since the epoch. */
  readonly at: number
}

interface AuditLine {
  readonly auditID: string
  readonly verb: string
  readonly user: { readonly username: string }
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly name?: string }
  readonly responseStatus?: { readonly code?: number }
  readonly requestReceivedTimestamp: string
}

/** Each request once, in the order of their lines; a watch is there as soon as it has begun. */
export function askedRequests(auditLog: string): AskedRequest[] {
  const requests = new Map<string, AskedRequest>()
  // The last line may be half written.
  for (const text of readFileSync(auditLog, 'utf8').split('\n').slice(0, -1)) {
    const line = JSON.parse(text) as AuditLine
    if (requests.has(line.auditID)) continue
    requests.set(line.auditID, {
      verb: line.verb,
      resource: line.objectRef?.resource ?? '',
      subresource: line.objectRef?.subresource,
      name: line.objectRef?.name,
      user: line.user.username,
      code: line.responseStatus?.code,
      at: Date.parse(line.requestReceivedTimestamp),
    })
  }
  return [...requests.values()]
}
