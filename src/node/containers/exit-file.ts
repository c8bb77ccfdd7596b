import { rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'

/** The content of a container's exit file: how far its program got, as noted by the process that waits for it. */
export type ExitNote =
  | { readonly state: 'missing' | 'unstarted' | 'started' }
  | { readonly state: 'ended'; readonly code: number; readonly at: number }

/** Written by the process that becomes the program: `started` just before, `unstarted` if that fails. */
export const startedWord = 'started'
export const unstartedWord = 'unstarted'

/**
 * Makes a new exit file with its first line, so that there is room for the rest even when the disk fills up later. A
 * new file each time, because a process of the previous start may still have the old one open.
 */
export function makeExitFile(path: string): void {
  rmSync(path, { force: true })
  writeFileSync(path, `${unstartedWord}\n`, { mode: 0o600 })
}

export async function readExitFile(path: string): Promise<ExitNote> {
  if (path === '') return { state: 'missing' }
  try {
    await using file = await open(path)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0)
    const lines = buffer.subarray(0, bytesRead).toString().split('\n').slice(0, -1)
    const code = /^\d+$/.test(lines.at(-1) ?? '') ? Number(lines.pop()) : undefined
    const last = lines.at(-1)
    if (last === unstartedWord) return { state: 'unstarted' }
    // Containers that an older version started only note the exit code.
    if (code !== undefined) return { state: 'ended', code, at: Math.floor((await file.stat()).mtimeMs) }
    return { state: last === startedWord ? 'started' : 'missing' }
  } catch {
    return { state: 'missing' }
  }
}
