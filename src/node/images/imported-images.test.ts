import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { dockerArchive } from './archives/image-archive.fixture.ts'
import { ImageLibrary } from './image-library.ts'
import { imageRootsContract } from './image-roots.contract.ts'
import { ImportedImages } from './imported-images.ts'
import { file } from './tar/tar-writer.fixture.ts'

const scratch = mkdtempSync(join(tmpdir(), 'sluice-imported-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const { signal } = new AbortController()
const archive = join(scratch, 'web.tar')
writeFileSync(archive, dockerArchive([{ layers: [[file('a', 'x')]], names: ['web:1'] }]))

imageRootsContract('ImportedImages', () => {
  const folder = join(mkdtempSync(join(scratch, 'data-')), 'images')
  const library = new ImageLibrary({ folder, sync: async () => {} })
  return {
    roots: new ImportedImages(folder, 'registry.test'),
    add: async () => void (await library.import({ path: archive, signal })),
    remove: async () => void (await library.remove('web:1', signal)),
    collect: () => library.collect(signal),
    reopened: () => new ImportedImages(folder, 'registry.test'),
  }
})
