import { accessKeyCreateCommand } from './access-keys/access-key-create.ts'
import { accessKeyDisableCommand } from './access-keys/access-key-disable.ts'
import { accessKeyListCommand } from './access-keys/access-key-list.ts'
import { accessKeyRotateCommand } from './access-keys/access-key-rotate.ts'
import { auditCommand } from './audit/audit.ts'
import { backupCommand } from './backup/backup.ts'
import { restoreCommand } from './backup/restore.ts'
import { chatCommand } from './chat/chat.ts'
import { runModelCommand } from './chat/run.ts'
import type { Command } from './command.ts'
import { clusterCreateCommand } from './clusters/cluster-create.ts'
import { clusterDeleteCommand } from './clusters/cluster-delete.ts'
import { clusterKubeconfigCommand } from './clusters/cluster-kubeconfig.ts'
import { clusterListCommand } from './clusters/cluster-list.ts'
import { clusterShowCommand } from './clusters/cluster-show.ts'
import { completeCommand, completionCommand } from './completion/completion.ts'
import { doctorCommand } from './doctor.ts'
import { imageImportCommand } from './images/image-import.ts'
import { imageListCommand } from './images/image-list.ts'
import { imageRemoveCommand } from './images/image-remove.ts'
import { keyCreateCommand } from './keys/key-create.ts'
import { keyListCommand } from './keys/key-list.ts'
import { keyRevokeCommand } from './keys/key-revoke.ts'
import { modelAddCommand } from './models/model-add.ts'
import { modelCacheCommand } from './models/model-cache.ts'
import { modelImportCommand } from './models/model-import.ts'
import { modelListCommand } from './models/model-list.ts'
import { modelPullCommand } from './models/model-pull.ts'
import { modelRmCommand } from './models/model-rm.ts'
import { modelSleepCommand } from './models/model-sleep.ts'
import { controllerCommand } from './roles/controller.ts'
import { exposureCommand } from './roles/exposure.ts'
import { gatewayCommand } from './roles/gateway.ts'
import { managementCommand } from './roles/management.ts'
import { logsCommand } from './running/logs.ts'
import { psCommand } from './running/ps.ts'
import { sleepCommand } from './running/sleep.ts'
import { statusCommand } from './running/status.ts'
import { topCommand } from './running/top.ts'
import { wakeCommand } from './running/wake.ts'
import { serveCommand } from './serve/serve.ts'
import { serviceInstallCommand } from './service/service-install.ts'
import { serviceStatusCommand } from './service/service-status.ts'
import { serviceUninstallCommand } from './service/service-uninstall.ts'
import { upCommand } from './up.ts'
import { usageCommand } from './usage/usage.ts'
import { versionCommand } from './version.ts'

export const commands: readonly Command[] = [
  upCommand,
  runModelCommand,
  chatCommand,
  psCommand,
  statusCommand,
  topCommand,
  logsCommand,
  wakeCommand,
  sleepCommand,
  controllerCommand,
  gatewayCommand,
  exposureCommand,
  managementCommand,
  serveCommand,
  modelListCommand,
  modelAddCommand,
  modelRmCommand,
  modelPullCommand,
  modelCacheCommand,
  modelImportCommand,
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
  usageCommand,
  auditCommand,
  backupCommand,
  restoreCommand,
  serviceInstallCommand,
  serviceUninstallCommand,
  serviceStatusCommand,
  doctorCommand,
  completionCommand,
  versionCommand,
  completeCommand(() => commands),
]

/** Finds the command that the words begin with, and returns the rest of the words. */
export function findCommand(words: readonly string[]): { command: Command; rest: readonly string[] } | undefined {
  for (const command of commands) {
    const name = command.name.split(' ')
    if (name.every((word, index) => words[index] === word)) return { command, rest: words.slice(name.length) }
  }
  return undefined
}
