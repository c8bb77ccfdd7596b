import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { elfFacts } from '../scripts/artefacts/elf-needs.ts'
import { FileTree } from '../scripts/artefacts/file-tree.ts'
import { ociArchive, packLayer } from '../scripts/artefacts/oci-image.ts'
import { openImageLibrary, parsePlatform, usualLimits } from '../src/platform/images/image-library.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-artefact-parts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('an image for several kinds of machine', () => {
  const imagesFor = async (architecture: string) => ({
    architecture,
    images: [
      {
        name: 'sluice/sluice:1',
        description: 'a test',
        entrypoint: ['/run'],
        layers: [
          await packLayer(new FileTree().addText('shared', 'the same everywhere')),
          await packLayer(new FileTree().addText('machine', architecture)),
        ],
      },
    ],
  })

  it('is one archive, from which each machine takes its own', async () => {
    const archive = join(folder, 'both.oci.tar')
    writeFileSync(archive, ociArchive([await imagesFor('amd64'), await imagesFor('arm64')]))
    const library = openImageLibrary(join(folder, 'data'))
    for (const architecture of ['amd64', 'arm64']) {
      const [taken] = await library.import({
        path: archive,
        name: `machine/${architecture}:1`,
        ref: 'sluice/sluice:1',
        platform: parsePlatform(`linux/${architecture}`),
        limits: usualLimits,
        signal: AbortSignal.timeout(60_000),
      })
      expect(taken?.record.name).toContain(`machine/${architecture}:1`)
      const root = join(folder, 'data/images/roots', (taken?.record.id ?? '').replace(':', '-'), 'rootfs')
      expect(readFileSync(join(root, 'machine'), 'utf8')).toBe(architecture)
      expect(readFileSync(join(root, 'shared'), 'utf8')).toBe('the same everywhere')
    }
  })

  it('has layers that are equal for all of them only once', async () => {
    const blobs = async (...machines: string[]) => {
      const input = ociArchive(await Promise.all(machines.map(imagesFor)))
      const list = execFileSync('tar', ['-t'], { input, encoding: 'utf8' })
      return list.split('\n').filter((path) => /^blobs\/sha256\/.+/.test(path)).length
    }
    // Of each machine a layer, a configuration and a manifest; of both the shared layer and the index.
    expect([await blobs('amd64'), await blobs('amd64', 'arm64')]).toEqual([4, 8])
  })
})

describe('what a program is linked with', () => {
  it('is read without running it', () => {
    const facts = elfFacts(readFileSync(process.execPath))
    expect(facts).toMatchObject({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      loader: expect.stringMatching(/^\/lib(64)?\/ld-linux-/),
    })
    expect(facts?.needs).toEqual(expect.arrayContaining(['libc.so.6', 'libstdc++.so.6']))
  })

  it('is nothing for what is no program', () => {
    expect(elfFacts(Buffer.from('#!/bin/sh\n'))).toBeUndefined()
  })
})
