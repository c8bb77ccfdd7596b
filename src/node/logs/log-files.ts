import { readdirSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { PodIdentity } from '../pod-runtime.ts'

/** The folder of all Pods' logs. Whatever in it belongs to no known Pod is removed. */
export function podLogsFolder(dataDir: string): string {
  return join(dataDir, 'logs', 'pods')
}

/** A Pod's folder in it. */
export function podLogFolderName({ namespace, name, uid }: PodIdentity): string {
  return `${namespace}_${name}_${uid}`
}

/** The uid in a folder's name; Pod names contain no underscore. */
export function uidOfLogFolder(folderName: string): string {
  return folderName.slice(folderName.lastIndexOf('_') + 1)
}

export function containerLogFolder(logsFolder: string, pod: PodIdentity, container: string): string {
  return join(logsFolder, podLogFolderName(pod), container)
}

/** `<attempt>.log`; the rotated part is `<attempt>.log.1`. */
export function logPath(folder: string, attempt: number): string {
  return join(folder, `${attempt}.log`)
}

export function rotatedPath(path: string): string {
  return `${path}.1`
}

/** The file the process itself writes to, from which the collector fills the log. */
export function rawPath(folder: string, attempt: number): string {
  return join(folder, `${attempt}.raw`)
}

/** The file that notes how far the collector got in the raw file. */
export function offsetPath(folder: string, attempt: number): string {
  return join(folder, `${attempt}.offset`)
}

/** The attempts that have a log, newest first. */
export async function loggedAttempts(folder: string): Promise<number[]> {
  return attemptsIn(await readdir(folder).catch(() => []))
}

/**
 * Keeps the log of the previous attempt, for `kubectl logs --previous`. Synchronous, because somebody waits for the
 * container to start.
 */
export function removeOldLogs(folder: string, attempt: number): void {
  for (const old of attemptsIn(readdirSync(folder))) {
    if (old >= attempt - 1 && old !== attempt) continue
    rmSync(logPath(folder, old), { force: true })
    rmSync(rotatedPath(logPath(folder, old)), { force: true })
  }
}

function attemptsIn(names: readonly string[]): number[] {
  return names
    .filter((name) => /^\d+\.log$/.test(name))
    .map((name) => Number.parseInt(name, 10))
    .sort((a, b) => b - a)
}
