import { z } from 'zod'

/** The fields of an audit line that people search and see. */
const auditLineSchema = z.object({
  kind: z.literal('Event'),
  auditID: z.string(),
  stage: z.string(),
  requestURI: z.string(),
  verb: z.string(),
  user: z.object({ username: z.string().optional() }),
  impersonatedUser: z.object({ username: z.string().optional() }).optional(),
  sourceIPs: z.array(z.string()).default([]),
  userAgent: z.string().optional(),
  objectRef: z
    .object({
      resource: z.string(),
      apiGroup: z.string().optional(),
      namespace: z.string().optional(),
      name: z.string().optional(),
      subresource: z.string().optional(),
    })
    .optional(),
  responseStatus: z.object({ code: z.number(), reason: z.string().optional() }),
  stageTimestamp: z.string(),
  annotations: z.record(z.string(), z.string()).default({}),
})

export type AuditLine = z.infer<typeof auditLineSchema>

/** Marks a place where lines were dropped. */
export interface MissingLines {
  readonly missing: number
  readonly time: string
}

const missingSchema = z.object({ lines: z.number(), time: z.string(), msg: z.string() })

/** `undefined` if Sluice did not write this line, for example if the program was killed in the middle of it. */
export function parseAuditLine(text: string): AuditLine | MissingLines | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const line = auditLineSchema.safeParse(value)
  if (line.success) return line.data
  const missing = missingSchema.safeParse(value)
  return missing.success ? { missing: missing.data.lines, time: missing.data.time } : undefined
}

/** What to look for. Fields that are left out match everything. */
export interface AuditQuestion {
  readonly user?: string | undefined
  readonly verb?: string | undefined
  /** For example `pods`, `pods/exec` or `deployments.apps`. */
  readonly resource?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly cluster?: string | undefined
  readonly sinceMs?: number | undefined
  readonly failedOnly?: boolean | undefined
}

export function answersQuestion(line: AuditLine, question: AuditQuestion): boolean {
  const { user, verb, resource, namespace, name, cluster, sinceMs, failedOnly } = question
  const { objectRef } = line
  const isOr = (wanted: string | undefined, ...found: readonly (string | undefined)[]) =>
    wanted === undefined || found.includes(wanted)
  return (
    isOr(user, line.user.username, line.impersonatedUser?.username) &&
    isOr(verb, line.verb) &&
    isOr(resource, ...resourceNames(objectRef)) &&
    isOr(namespace, objectRef?.namespace) &&
    isOr(name, objectRef?.name) &&
    isOr(cluster, line.annotations['sluice.dev/cluster']) &&
    (sinceMs === undefined || Date.parse(line.stageTimestamp) >= sinceMs) &&
    (failedOnly !== true || line.responseStatus.code >= 400)
  )
}

/** All names by which a resource can be looked for. */
function resourceNames(object: AuditLine['objectRef']): string[] {
  if (!object) return []
  const { resource, apiGroup = '', subresource } = object
  const names = [resource, `${resource}.${apiGroup}`]
  return subresource === undefined ? names : [...names, ...names.map((name) => `${name}/${subresource}`)]
}
