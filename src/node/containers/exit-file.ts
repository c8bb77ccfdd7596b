import { rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'

/** What stands in a container's exit file: how far its program got, told by the shell that waits for it. */
export type ExitNote =
  | { readonly state: 'missing' | 'unstarted' | 'started' }
  | { readonly state: 'ended'; readonly code: number; readonly at: number }

/** Said by the process that becomes the program, before it does; and by the same, should it not come to that. */
export const startedWord = 'started'
export const unstartedWord = 'unstarted'

/**
 * Its first line is written here, so that there is room for the others on a disk that is full by then. A new file each
 * time: whoever still has the one before open does not write into this one.
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
    // Of a container that an older version started there is nothing but the code.
    if (code !== undefined) return { state: 'ended', code, at: Math.floor((await file.stat()).mtimeMs) }
    return { state: last === startedWord ? 'started' : 'missing' }
  } catch {
    return { state: 'missing' }
  }
}
