import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { isAlive } from '../processes/process-identity.ts'
import { namesInFolder } from '../names-in-folder.ts'

const recordSchema = z.looseObject({
  containers: z.record(
    z.string(),
    z.looseObject({ pid: z.int().positive(), startTime: z.string(), cards: z.array(z.int()) }),
  ),
})

/**
 * The cards of containers that a node's former run left running, by its records, before the node itself has looked.
 * What cannot be read has none.
 */
export function heldCards(dataDir: string): readonly number[] {
  const folder = join(dataDir, 'node', 'pods')
  const records = namesInFolder(folder).filter((name) => name.endsWith('.json'))
  return records.flatMap((name) => {
    const record = recordSchema.safeParse(readJson(join(folder, name)))
    const containers = record.success ? Object.values(record.data.containers) : []
    return containers.filter(isAlive).flatMap(({ cards }) => cards)
  })
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
