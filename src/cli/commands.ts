import { accessKeyCreateCommand } from './access-key-create.ts'
import { accessKeyDisableCommand } from './access-key-disable.ts'
import { accessKeyListCommand } from './access-key-list.ts'
import { accessKeyRotateCommand } from './access-key-rotate.ts'
import { auditCommand } from './audit.ts'
import type { Command } from './command.ts'
import { clusterCreateCommand } from './cluster-create.ts'
import { clusterDeleteCommand } from './cluster-delete.ts'
import { clusterKubeconfigCommand } from './cluster-kubeconfig.ts'
import { clusterListCommand } from './cluster-list.ts'
import { clusterShowCommand } from './cluster-show.ts'
import { doctorCommand } from './doctor.ts'
import { imageImportCommand } from './image-import.ts'
import { imageListCommand } from './image-list.ts'
import { imageRemoveCommand } from './image-remove.ts'
import { keyCreateCommand } from './key-create.ts'
import { keyListCommand } from './key-list.ts'
import { keyRevokeCommand } from './key-revoke.ts'
import { modelPullCommand } from './model-pull.ts'
import { serveCommand } from './serve.ts'
import { upCommand } from './up.ts'
import { versionCommand } from './version.ts'

export const commands: readonly Command[] = [
  upCommand,
  serveCommand,
  modelPullCommand,
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
