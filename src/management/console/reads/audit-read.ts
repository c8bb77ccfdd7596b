import { SluiceError } from '../../../foundation/errors.ts'
import type { AuditView } from '../console-shapes.ts'
import type { ConsoleRoute } from '../console-routes.ts'
import type { AuditedLine, ConsoleWorld } from '../console-world.ts'

/** Who has changed what lately. */
export function auditRead({ auditTail }: ConsoleWorld): ConsoleRoute {
  return {
    method: 'GET',
    pattern: 'audit',
    run: async () => {
      if (!auditTail) throw new SluiceError('console_action_unavailable', { reason: 'the audit log is not kept here' })
      return (await auditTail()).map(auditView)
    },
  }
}

function auditView({ stageTimestamp, verb, user, objectRef, responseStatus }: AuditedLine): AuditView {
  const { resource = '', subresource, namespace, name = '' } = objectRef ?? {}
  return {
    at: stageTimestamp,
    user: user.username ?? 'nobody',
    verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    name: namespace === undefined ? name : `${namespace}/${name}`,
    status: responseStatus.code,
  }
}
