import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { ContainerRefused } from '../pod-runtime.ts'

/** The folder or file of a hostPath volume, created if its type asks for that. */
export function hostFolder({ path, type }: { readonly path: string; readonly type?: string | undefined }): string {
  if (!path.startsWith('/') || path.split('/').includes('..')) throw refused(`hostPath "${path}" must be absolute`)
  let found = statSync(path, { throwIfNoEntry: false })
  if (!found && type === 'DirectoryOrCreate') {
    mkdirSync(path, { recursive: true, mode: 0o755 })
    found = statSync(path)
  }
  if (!found && type === 'FileOrCreate') {
    writeFileSync(path, '', { mode: 0o644 })
    found = statSync(path)
  }
  if (!found) throw refused(`hostPath "${path}" does not exist on this machine`)
  const isWhatItSays =
    type === undefined ||
    type === '' ||
    (type.startsWith('Directory') && found.isDirectory()) ||
    (type.startsWith('File') && found.isFile()) ||
    (type === 'Socket' && found.isSocket()) ||
    (type === 'CharDevice' && found.isCharacterDevice()) ||
    (type === 'BlockDevice' && found.isBlockDevice())
  if (!isWhatItSays) throw refused(`hostPath "${path}" is not of the type ${type}`)
  return path
}

function refused(message: string): ContainerRefused {
  return new ContainerRefused('CreateContainerConfigError', message)
}
