import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A random id, made once in the node's folder, that distinguishes this node's processes and networks from those of
 * others on the machine.
 */
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
