import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { VolumeGroups } from './volume-groups.ts'

const never = new AbortController().signal
const gid = 5000
let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sluice-groups-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const groupOf = (path: string) => lstatSync(join(root, path)).gid
const modeOf = (path: string) => (statSync(join(root, path)).mode & 0o7777).toString(8)

describe.skipIf(process.getuid?.() !== 0)('a volume that is given to a group', () => {
  it('is given with all that is in it, and links lead nowhere', async () => {
    mkdirSync(join(root, 'folder'), { mode: 0o700 })
    writeFileSync(join(root, 'folder', 'file'), '', { mode: 0o600 })
    symlinkSync('/etc/passwd', join(root, 'folder', 'link'))
    await new VolumeGroups(systemClock).give('uid', [root], { gid }, never)
    expect(['', 'folder', 'folder/file', 'folder/link'].map(groupOf)).toEqual([gid, gid, gid, gid])
    expect([modeOf('folder'), modeOf('folder/file')]).toEqual(['2770', '660'])
    expect(statSync('/etc/passwd').gid).toBe(0)
  })

  it('is given once to each Pod, whatever comes later', async () => {
    const groups = new VolumeGroups(systemClock)
    await groups.give('uid', [root], { gid }, never)
    writeFileSync(join(root, 'later'), '')
    chownSync(join(root, 'later'), 0, 0)
    await groups.give('uid', [root], { gid }, never)
    expect(groupOf('later')).toBe(0)
    await groups.give('another', [root], { gid }, never)
    expect(groupOf('later')).toBe(gid)
    groups.forget('uid')
  })

  it('is left alone on request where its root is right, which comes last', async () => {
    writeFileSync(join(root, 'file'), '')
    chownSync(join(root, 'file'), 0, 0)
    const owner = { gid, onlyOnMismatch: true }
    chownSync(root, -1, gid)
    chmodSync(root, 0o2770)
    await new VolumeGroups(systemClock).give('uid', [root], owner, never)
    expect(groupOf('file')).toBe(0)
    chmodSync(root, 0o700)
    await new VolumeGroups(systemClock).give('uid', [root], owner, never)
    expect([groupOf('file'), modeOf('')]).toEqual([gid, '2770'])
  })

  it('with many files is given by a thread of its own, and by none when nobody wants it any more', async () => {
    for (let index = 0; index < 2000; index += 1) writeFileSync(join(root, `file-${index}`), '')
    const leaving = new AbortController()
    const giving = new VolumeGroups(systemClock).give('uid', [root], { gid, onlyOnMismatch: true }, leaving.signal)
    leaving.abort(new Error('nobody wants it'))
    await expect(giving).rejects.toThrow('nobody wants it')
    // A half-finished volume does not count as done.
    expect(groupOf('')).toBe(0)
    await new VolumeGroups(systemClock).give('uid', [root], { gid, onlyOnMismatch: true }, never)
    expect(groupOf('')).toBe(gid)
    expect([0, 999, 1999].map((index) => groupOf(`file-${index}`))).toEqual([gid, gid, gid])
  })
})
