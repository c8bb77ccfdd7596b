import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { podSchema } from '../../resources/pod.ts'
import { type RunProgram, programRunner } from '../processes/run-program.ts'
import { measureStorage } from './measure-storage.ts'

const run = programRunner(systemClock, 20_000)
const never = new AbortController().signal
const large = 2 ** 20
/** Folders, and the unused rest of a last block, count, too. */
const little = 64 * 2 ** 10

let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sluice-storage-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const pod = podSchema.parse({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: {
    containers: [{ name: 'main' }, { name: 'other' }],
    volumes: [
      { name: 'work', emptyDir: { sizeLimit: '1Mi' } },
      { name: 'fast', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
      { name: 'conf', configMap: { name: 'c' } },
    ],
  },
})

function fill(path: string, bytes = large): string {
  const file = join(root, path)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, Buffer.alloc(bytes, 1))
  return file
}

function measure(program: RunProgram = run) {
  const places = { scratch: join(root, 'scratch'), logs: join(root, 'logs'), memory: [join(root, 'memory')] }
  return measureStorage(pod, places, program, never)
}

const roughly = (bytes: number | undefined) => Math.round((bytes ?? 0) / large)

describe('measureStorage', () => {
  it('tells volumes, containers and the rest apart', async () => {
    fill('scratch/volumes/work/a/b')
    fill('scratch/volumes/conf/..data/c', 2 * large)
    fill('scratch/containers/main/root/x', 3 * large)
    fill('scratch/home/y', 4 * large)
    fill('logs/main/0.log', 5 * large)
    fill('logs/other/0.log', 6 * large)
    fill('memory/fast/z', 7 * large)
    const use = await measure()
    expect([...(use?.volumes ?? [])].map(([name, bytes]) => [name, roughly(bytes)])).toEqual([
      ['work', 1],
      ['fast', 7],
    ])
    expect([...(use?.containers ?? [])].map(([name, bytes]) => [name, roughly(bytes)])).toEqual([
      ['main', 8],
      ['other', 6],
    ])
    expect(roughly(use?.pod)).toBe(21)
  })

  it('counts a file once, follows no links, and is not told what to count by the names of files', async () => {
    const file = fill('scratch/volumes/work/file')
    linkSync(file, join(root, 'scratch/volumes/work/again'))
    symlinkSync('/usr', join(root, 'scratch/volumes/work/machine'))
    fill(`scratch/volumes/work/x\n9999999\t${root}/scratch/volumes/work`, 1)
    const use = await measure()
    expect(use?.volumes.get('work')).toBeGreaterThanOrEqual(large)
    expect(use?.volumes.get('work')).toBeLessThan(large + little)
  })

  it('of a Pod without anything is next to nothing', async () => {
    expect(await measure()).toMatchObject({ pod: 0 })
  })

  it('is unknown where nobody can measure', async () => {
    expect(await measure(async () => ({ ran: false, reason: 'missing', message: '' }))).toBeUndefined()
  })
})
