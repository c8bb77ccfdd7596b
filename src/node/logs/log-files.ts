import { readdirSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { PodIdentity } from '../pod-runtime.ts'

/** Pods' logs have a folder of their own: what is in it belongs to some Pod, or to none and is removed. */
export function podLogsFolder(dataDir: string): string {
  return join(dataDir, 'logs', 'pods')
}

/** The Pod's folder below it. */
export function podLogFolderName({ namespace, name, uid }: PodIdentity): string {
  return `${namespace}_${name}_${uid}`
}

/** The uid in a folder's name; a name of a Pod holds no underscore. */
export function uidOfLogFolder(folderName: string): string {
  return folderName.slice(folderName.lastIndexOf('_') + 1)
}

export function containerLogFolder(logsFolder: string, pod: PodIdentity, container: string): string {
  return join(logsFolder, podLogFolderName(pod), container)
}

/** `<attempt>.log`; what was rotated out of it is in `<attempt>.log.1`. */
export function logPath(folder: string, attempt: number): string {
  return join(folder, `${attempt}.log`)
}

export function rotatedPath(path: string): string {
  return `${path}.1`
}

/** Where the process itself writes; the collector moves it from there into the log, with times. */
export function rawPath(folder: string, attempt: number): string {
  return join(folder, `${attempt}.raw`)
}

/** How far the collector got in the raw file. */
export function offsetPath(folder: string, attempt: number): string {
  return join(folder, `${attempt}.offset`)
}

/** Attempts that have a log, newest first. */
export async function loggedAttempts(folder: string): Promise<number[]> {
  return attemptsIn(await readdir(folder).catch(() => []))
}

/**
 * The log of the attempt before stays, for `kubectl logs --previous`. At once: somebody waits for the container to
 * start.
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
