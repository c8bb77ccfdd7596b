import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { silentLogger } from '../../../foundation/log.ts'
import { writeTinyModel } from '../../models/tiny-model.ts'
import { loadModelFile } from '../../test-support/loaded-model.fixture.ts'
import { residentKiB } from '../../test-support/resident-file.fixture.ts'
import { Computing } from '../native/computing.ts'
import { mappingsIn, readyToLetGo } from './file-mappings.ts'
import { GrowingContext } from '../native/growing-context.ts'
import type { LoadedModel } from '../native/loaded-model.ts'
import { Sequence } from '../native/sequence.ts'
import { fixedThreads } from '../native/step-threads.ts'

const shape = { sequences: 1, length: 256 }
const { signal } = new AbortController()

describe('mapped files', () => {
  it('are found in the list of a process by their numbers, as far as nobody writes to them', () => {
    const maps = [
      '55d0c8a00000-55d0c8a02000 r--p 00000000 fe:00 11                         /usr/bin/other',
      '7f0000000000-7f0000300000 r--s 00000000 fe:00 22                         /models/a name.gguf',
      '7f0000300000-7f0000400000 r--p 00300000 fe:00 22                         /models/a name.gguf',
      '7f0000400000-7f0000500000 rw-p 00400000 fe:00 22                         /models/a name.gguf',
      '7ffe00000000-7ffe00021000 rw-p 00000000 00:00 0                          [stack]',
    ]
    expect(mappingsIn(`${maps.join('\n')}\n`, new Set([22n]))).toEqual([
      { address: 0x7f0000000000n, bytes: 0x300000n },
      { address: 0x7f0000300000n, bytes: 0x100000n },
    ])
  })

  describe('of a model', () => {
    let folder: string
    let file: string
    let model: LoadedModel

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'sluice-mapped-'))
      file = join(folder, 'tiny.gguf')
      await writeTinyModel(file)
      model = await loadModelFile(file)
    })
    afterEach(async () => {
      await model.dispose()
      await rm(folder, { recursive: true })
    })

    it('are let go of, and the model says the same as before', async () => {
      const options = { model, threads: 1, batchSize: 128, first: shape, most: shape, log: silentLogger }
      const context = await GrowingContext.open(options)
      const computing = new Computing(context, 128, fixedThreads(1))
      const likeliest = async () => {
        const sequence = new Sequence()
        const sampler = new model.addon.AddonSampler(model.native)
        sampler.applyConfig({ temperature: 0, topK: 0, topP: 1, minP: 0, seed: 1 })
        const work = { sequence, tokens: [10, 17, 24], sampler, probabilities: true }
        const drawn = await computing.compute(work, signal)
        sampler.dispose()
        await computing.between(() => context.forget(sequence))
        return drawn
      }
      const before = await likeliest()
      expect(await residentKiB(file)).toBeGreaterThan(0)
      const letGo = await readyToLetGo([file])
      const mapped = letGo()
      expect(mapped).toBeGreaterThan(100_000)
      expect(await residentKiB(file)).toBe(0)
      expect(await likeliest()).toEqual(before)
      expect(await residentKiB(file)).toBeGreaterThan(0)
      await context.dispose()
    })
  })
})
