import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { layOutRoot } from './container-root.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-root-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Lays out a root, and counts how often others had their turn meanwhile. */
async function turnsOf(laying: Promise<unknown>): Promise<number> {
  let turns = 0
  let over = false
  const count = () => {
    turns += 1
    if (!over) setImmediate(count)
  }
  setImmediate(count)
  await laying
  over = true
  return turns
}

describe('a mount in a folder with thousands of entries', () => {
  it('stops nobody while the folder is mirrored, nor when the container starts again', async () => {
    const full = join(folder, 'full')
    const data = join(folder, 'data')
    for (const path of [full, data]) mkdirSync(path)
    for (let count = 0; count < 2000; count += 1) writeFileSync(join(full, String(count)), '')
    const mount = { mountPath: join(full, 'mounted'), folder: data, root: data, readOnly: true }
    const skeleton = join(folder, 'skeleton')
    expect(await turnsOf(layOutRoot(skeleton, [mount]))).toBeGreaterThan(50)
    expect(existsSync(join(skeleton, full, '1999'))).toBe(true)
    expect(await turnsOf(layOutRoot(skeleton, [mount]))).toBeGreaterThan(50)
    const { table } = await layOutRoot(skeleton, [mount])
    expect(table.split('\n').length).toBeGreaterThan(2000)
  })
})
