import { accessKeyCreateCommand } from './access-keys/access-key-create.ts'
import { accessKeyDisableCommand } from './access-keys/access-key-disable.ts'
import { accessKeyListCommand } from './access-keys/access-key-list.ts'
import { accessKeyRotateCommand } from './access-keys/access-key-rotate.ts'
import { auditCommand } from './audit/audit.ts'
import type { Command } from './command.ts'
import { clusterCreateCommand } from './clusters/cluster-create.ts'
import { clusterDeleteCommand } from './clusters/cluster-delete.ts'
import { clusterKubeconfigCommand } from './clusters/cluster-kubeconfig.ts'
import { clusterListCommand } from './clusters/cluster-list.ts'
import { clusterShowCommand } from './clusters/cluster-show.ts'
import { doctorCommand } from './doctor.ts'
import { imageImportCommand } from './images/image-import.ts'
import { imageListCommand } from './images/image-list.ts'
import { imageRemoveCommand } from './images/image-remove.ts'
import { keyCreateCommand } from './keys/key-create.ts'
import { keyListCommand } from './keys/key-list.ts'
import { keyRevokeCommand } from './keys/key-revoke.ts'
import { modelPullCommand } from './models/model-pull.ts'
import { modelSleepCommand } from './models/model-sleep.ts'
import { controllerCommand } from './roles/controller.ts'
import { exposureCommand } from './roles/exposure.ts'
import { gatewayCommand } from './roles/gateway.ts'
import { managementCommand } from './roles/management.ts'
import { serveCommand } from './serve.ts'
import { upCommand } from './up.ts'
import { versionCommand } from './version.ts'

export const commands: readonly Command[] = [
  upCommand,
  controllerCommand,
  gatewayCommand,
  exposureCommand,
  managementCommand,
  serveCommand,
  modelPullCommand,
  modelSleepCommand,
  imageImportCommand,
  imageListCommand,
  imageRemoveCommand,
  keyCreateCommand,
  keyListCommand,
  keyRevokeCommand,
  accessKeyCreateCommand,
  accessKeyListCommand,
  accessKeyDisableCommand,
  accessKeyRotateCommand,
  clusterCreateCommand,
  clusterListCommand,
  clusterShowCommand,
  clusterKubeconfigCommand,
  clusterDeleteCommand,
  auditCommand,
  doctorCommand,
  versionCommand,
]

/** Finds the command that the words begin with, and returns the rest of the words. */
export function findCommand(words: readonly string[]): { command: Command; rest: readonly string[] } | undefined {
  for (const command of commands) {
    const name = command.name.split(' ')
    if (name.every((word, index) => words[index] === word)) return { command, rest: words.slice(name.length) }
  }
  return undefined
}
