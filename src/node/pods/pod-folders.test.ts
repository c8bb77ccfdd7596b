import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { nodeIdOf } from '../registration/node-id.ts'
import { PodFolders } from './pod-folders.ts'

const uid = '6f2c8d1e-0000-4000-8000-000000000001'
let dataDir = ''
let inMemory = ''

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-folders-'))
})
afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true })
  rmSync(inMemory, { recursive: true, force: true })
})

function folders(): PodFolders {
  let id = ''
  const made = new PodFolders(dataDir, (folder) => (id = nodeIdOf(folder)))
  inMemory = `/dev/shm/sluice-${id}`
  return made
}

describe('volumes in memory', () => {
  it('are in a folder that others can neither guess nor enter', () => {
    const volume = folders().volume(uid, 'fast', true)
    expect(dirname(dirname(volume))).toMatch(/^\/dev\/shm\/sluice-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
    expect(statSync(inMemory).mode & 0o777).toBe(0o700)
  })

  it('are not made in what somebody else has put there', () => {
    const made = folders()
    symlinkSync(dataDir, inMemory)
    expect(() => made.volume(uid, 'fast', true)).toThrow('only this user')
    rmSync(inMemory)
    mkdirSync(inMemory)
    chmodSync(inMemory, 0o777)
    expect(() => made.volume(uid, 'fast', true)).toThrow('only this user')
  })

  it('are gone with their Pod, and the folder with the last of them', async () => {
    const made = folders()
    mkdirSync(made.volume(uid, 'fast', true), { recursive: true })
    await made.removeVolumes(uid)
    expect(statSync(inMemory, { throwIfNoEntry: false })).toBeUndefined()
  })
})
