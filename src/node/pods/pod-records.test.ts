import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { PodRecords, recordOf } from './pod-records.ts'

it('leaves nothing of a record that was half written when a former run was killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-records-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const whole = { ...recordOf({ uid: 'whole', namespace: 'default', name: 'a' }, '10.0.0.1', 'boot'), containers: {} }
  writeFileSync(join(folder, 'whole.json'), JSON.stringify(whole))
  writeFileSync(join(folder, 'whole.json.new'), '{"uid":"wh')
  writeFileSync(join(folder, 'gone.json.new'), '{"uid":"gone","containers":{"main":{"env":{"PASSWORD":"secret"')
  const loaded = await new PodRecords(folder).load()
  expect(loaded.map(({ uid }) => uid)).toEqual(['whole'])
  expect(readdirSync(folder)).toEqual(['whole.json'])
})
