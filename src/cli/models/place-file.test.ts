import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { placeFile } from './place-file.ts'

const here = mkdtempSync(join(tmpdir(), 'sluice-place-'))
/** Where there is one, another file system: links do not reach it. */
const shared = '/dev/shm'
const isElsewhere = canHold(shared) && statSync(shared).dev !== statSync(here).dev
const there = isElsewhere ? mkdtempSync(join(shared, 'sluice-place-')) : here
const folders = [here, there]
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})
afterEach(() => {
  for (const folder of folders) for (const name of readdirSync(folder)) rmSync(join(folder, name))
})

function canHold(folder: string): boolean {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
}

describe('a file that is put at another place', () => {
  const from = join(here, 'model.gguf')
  const to = join(there, 'placed.gguf')

  it('is the same file within a file system, and not copied', async () => {
    writeFileSync(from, 'weights')
    const told: number[] = []
    await placeFile(from, join(here, 'same'), { signal: new AbortController().signal, onCopied: (n) => told.push(n) })
    expect([statSync(from).ino === statSync(join(here, 'same')).ino, told]).toEqual([true, []])
  })

  describe.skipIf(!isElsewhere)(`on another file system${isElsewhere ? '' : ` (skipped: ${shared} is none)`}`, () => {
    it('is copied, and tells how far', async () => {
      writeFileSync(from, Buffer.alloc(200_000, 'weights'))
      let copied = 0
      await placeFile(from, to, { signal: new AbortController().signal, onCopied: (bytes) => (copied += bytes) })
      expect([readFileSync(to).equals(readFileSync(from)), copied]).toEqual([true, 200_000])
    })

    it('leaves nothing behind when that is interrupted', async () => {
      writeFileSync(from, Buffer.alloc(200_000, 'weights'))
      const stop = new AbortController()
      const copying = placeFile(from, to, { signal: stop.signal, onCopied: () => stop.abort() })
      await expect(copying).rejects.toThrow('aborted')
      expect(readdirSync(there)).toEqual([])
    })
  })
})
