import type { AuditEvent } from '../../apiserver/audit/audit-event.ts'

/** An audit event for tests: the creation of a ConfigMap, with these changes. */
export function auditEvent(changes: Partial<AuditEvent> = {}): AuditEvent {
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: 'c9b1c8a2-0000-4000-8000-000000000000',
    stage: 'ResponseComplete',
    requestURI: '/vks/one/api/v1/namespaces/default/configmaps',
    verb: 'create',
    user: { username: 'admin', groups: ['system:masters'] },
    sourceIPs: ['127.0.0.1'],
    objectRef: { resource: 'configmaps', namespace: 'default', name: 'a', apiVersion: 'v1' },
    responseStatus: { metadata: {}, code: 201 },
    requestReceivedTimestamp: '2030-01-01T00:00:00.000000Z',
    stageTimestamp: '2030-01-01T00:00:00.001000Z',
    annotations: { 'sluice.dev/cluster': 'one' },
    ...changes,
  }
}
