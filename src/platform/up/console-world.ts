import { resolve } from 'node:path'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { auditFile } from '../audit/audit-files.ts'
import { auditTail } from '../audit/audit-tail.ts'
import { consoleAuditEvent } from '../audit/console-audit-event.ts'
import { newInferenceKey } from '../inference-keys.ts'
import { ConsolePulls } from '../models/console-pulls.ts'
import { ConsoleUploads } from '../models/console-uploads.ts'
import { modelFolders } from '../models/model-folders.ts'
import { volumesDirectory } from '../models/model-storage.ts'
import type { GatewayRole } from '../roles/gateway-role.ts'
import type { ManagementRoleOptions } from '../roles/management-role.ts'
import { userDataClaim } from '../../resources/persistent-volume-claim.ts'
import type { OpenedHome } from './open-home.ts'

export interface ConsoleParts {
  readonly opened: Pick<OpenedHome, 'home' | 'identity' | 'audit'>
  readonly dataDirectory: string
  readonly gateway: GatewayRole | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** What the console of an embedded cluster shows and does: everything, since all of it is in this process. */
export function consoleWorld({
  opened,
  dataDirectory,
  gateway,
  clock,
  log,
}: ConsoleParts): ManagementRoleOptions['console'] {
  const { home, identity, audit } = opened
  const { controlPlane } = home.cluster
  const claim = resolve(volumesDirectory(dataDirectory), userDataClaim)
  return {
    caches: home.caches,
    client: controlPlane.clientFor('sluice-console'),
    rehearsal: controlPlane.clientFor('sluice-console', { dryRun: true }),
    traffic: gateway?.pool,
    logs: (pod, options, signal) =>
      home.cluster.readLog(pod, { ...options, timestamps: false, previous: false }, signal),
    makeBearerKey: newInferenceKey,
    pulls: new ConsolePulls({ dataDirectory, clock, log }),
    uploads: new ConsoleUploads(dataDirectory),
    modelFolders: async () => ({ root: claim, folders: await modelFolders(claim) }),
    audit: (change) => audit.write(consoleAuditEvent(change, identity.clusterId, clock.now())),
    auditTail: () => auditTail(auditFile(dataDirectory)),
  }
}
