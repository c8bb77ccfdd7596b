import { randomUUID } from 'node:crypto'
import { type AuditEvent, microTime } from '../../apiserver/audit/audit-event.ts'
import type { ConsoleChange } from '../../management/console/console-world.ts'

/**
 * The line of a change that was made by the console, as if the holder of the key had made it at the API server: that is
 * where one looks for who has changed something.
 */
export function consoleAuditEvent(change: ConsoleChange, clusterId: string, now: number): AuditEvent {
  const { key, source, userAgent, verb, object, status, startedAt } = change
  const { resource, subresource, namespace, name } = object
  const place = namespace === undefined ? '' : `namespaces/${namespace}/`
  const path = [resource, name, ...(subresource === undefined ? [] : [subresource])].join('/')
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: randomUUID(),
    stage: 'ResponseComplete',
    requestURI: `/apis/sluice.dev/v1/${place}${path}`,
    verb,
    user: { username: `sluice:access-key:${key}` },
    sourceIPs: [source],
    userAgent,
    objectRef: { resource, namespace, name, apiGroup: 'sluice.dev', apiVersion: 'v1', subresource },
    responseStatus: { metadata: {}, ...(status >= 400 ? { status: 'Failure' } : {}), code: status },
    requestReceivedTimestamp: microTime(startedAt),
    stageTimestamp: microTime(now),
    annotations: { 'sluice.dev/cluster': clusterId, 'sluice.dev/by': 'console' },
  }
}
