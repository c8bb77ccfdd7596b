import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { readProcess } from '../processes/process-identity.ts'
import { heldCards } from './held-cards.ts'

it('are those of containers that still run, whatever else the records say', () => {
  const root = mkdtempSync(join(tmpdir(), 'sluice-held-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  expect(heldCards(root)).toEqual([])
  const folder = join(root, 'node', 'pods')
  mkdirSync(folder, { recursive: true })
  const { pid } = process
  const startTime = readProcess(pid)?.startTime ?? ''
  const write = (uid: string, containers: object) =>
    writeFileSync(join(folder, `${uid}.json`), JSON.stringify({ uid, containers }))
  write('runs', { main: { pid, startTime, cards: [1, 3] }, side: { pid, startTime, cards: [] } })
  write('ended', { main: { pid, startTime: '1', cards: [0] } })
  write('odd', { main: 'nothing' })
  writeFileSync(join(folder, 'broken.json'), '{')
  expect(heldCards(root)).toEqual([1, 3])
})
