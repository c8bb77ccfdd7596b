import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { dockerArchive } from '../../node/images/archives/image-archive.fixture.ts'
import { file } from '../../node/images/tar/tar-writer.fixture.ts'
import { importNotes } from './image-import.ts'
import { renderList } from '../output/print-output.ts'
import { imageListing } from './image-list.ts'

const scratch = mkdtempSync(join(tmpdir(), 'sluice-image-commands-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const main = fileURLToPath(new URL('../main.ts', import.meta.url))
const data = join(scratch, 'data')
const sluice = (words: readonly string[], input?: Buffer) =>
  spawnSync(process.execPath, [main, 'image', ...words, '--data', data], { encoding: 'utf8', input, timeout: 20_000 })

const record = {
  name: 'docker.io/library/web:1',
  id: `sha256:${'0123456789abcdef'.repeat(4)}`,
  digests: [],
  platform: 'linux/amd64',
  importedAt: '2030-01-01T00:00:00Z',
  bytes: 5_500_000,
}

describe('sluice image', () => {
  it('imports, lists and removes', () => {
    const archive = join(scratch, 'web.tar')
    writeFileSync(archive, dockerArchive([{ layers: [[file('a', 'x')]], names: ['web:1'] }]))
    expect(sluice(['import', archive])).toMatchObject({ status: 0, stdout: 'docker.io/library/web:1\n', stderr: '' })
    const piped = sluice(['import', '-', '--name', 'other'], execFileSync('gzip', ['-c', archive]))
    expect(piped).toMatchObject({ status: 0, stdout: 'docker.io/library/other:latest\n' })
    const listed = JSON.parse(sluice(['list', '-o', 'json']).stdout) as { items: Array<{ name: string }> }
    expect(listed.items.map(({ name }) => name)).toEqual(['docker.io/library/other:latest', 'docker.io/library/web:1'])
    expect(sluice(['remove', 'web:1'])).toMatchObject({ status: 0, stdout: 'docker.io/library/web:1 removed\n' })
    expect(sluice(['remove', 'web:1'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('There is no image web:1') as string,
    })
  })

  it('shows them in a table', async () => {
    expect((await renderList([record], imageListing, undefined)).text.trimEnd().split('\n')).toEqual([
      'NAME                      ID             PLATFORM      SIZE    IMPORTED',
      'docker.io/library/web:1   0123456789ab   linux/amd64   5.2Mi   2030-01-01T00:00:00Z',
    ])
    expect((await renderList([], imageListing, undefined)).hint).toContain('sluice image import')
  })

  it('says what was left out, and how Pods name it', () => {
    const unpacked = { devices: 2, fifos: 0, capabilities: 1, otherOwners: 0, bytes: 1 }
    expect(importNotes([{ record, unpacked }], 'registry.local-1.localhost')).toEqual([
      'docker.io/library/web:1: left out 2 device files, the capabilities of 1 files.',
      'Pods name it registry.local-1.localhost/web:1',
    ])
    expect(importNotes([{ record, unpacked: undefined }], undefined)).toEqual([])
  })
})
