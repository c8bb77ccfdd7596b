import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Tells this node's processes and networks from those of another one on the same machine. Made once in its folder. */
export function nodeIdOf(folder: string): string {
  const path = join(folder, 'id')
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    const id = randomUUID()
    writeFileSync(path, `${id}\n`)
    return id
  }
}
