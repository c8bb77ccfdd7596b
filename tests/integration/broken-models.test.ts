import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventKind } from '../../src/resources/event.ts'
import type { Model } from '../../src/resources/model.ts'
import { modelKind } from '../../src/resources/model.ts'
import { ModelStage, namespace } from '../support/model-stage.ts'

const minutes = (count: number) => count * 60_000
const card = 'nvidia.com/gpu-l40s'
/** Asleep, or on its way where the first request has asked for it before anything was known. */
const mayServe = ({ status }: Model) => status?.phase !== 'Failed'
const reasonOf = ({ status }: Model) => status?.conditions?.find(({ type }) => type === 'Ready')?.reason

/** What is wrong, and what people are told about it. */
const broken: ReadonlyArray<readonly [name: string, spec: Record<string, unknown>, reason: string, told: RegExp]> = [
  [
    'missing',
    { url: 'pvc://userdata/models/none' },
    'FilesMissing',
    /There is nothing at .*models\/none: put .* into \//,
  ],
  ['no-gguf', { url: 'pvc://userdata/models/text/model.gguf' }, 'FilesUnusable', /model\.gguf .* is not a GGUF model/],
  ['two', { url: 'pvc://userdata/models/two' }, 'FilesUnusable', /several models \(a\.gguf, b\.gguf\)/],
  ['option', { args: ['--warp', '9'] }, 'OptionUnknown', /LlamaCpp has no option --warp/],
  ['cards', { resourceProfile: `${card}:9` }, 'NoSuchCard', /9/],
  ['no-card', { resourceProfile: 'nvidia.com/gpu-h800:1' }, 'NoSuchCard', /nvidia\.com\/gpu-h800/],
]

describe('Models that cannot start', () => {
  const stage = new ModelStage(['--gpus', `${card}=1`])

  beforeAll(async () => {
    await stage.addFile('models/tiny')
    const folder = (name: string) => join(stage.folder, 'models', name)
    for (const name of ['two', 'text']) mkdirSync(folder(name))
    for (const name of ['a', 'b']) copyFileSync(join(folder('tiny'), 'model.gguf'), join(folder('two'), `${name}.gguf`))
    writeFileSync(join(folder('text'), 'model.gguf'), 'a page that a proxy sent instead of the model')
    await stage.start()
    // It holds the only card, and may be asked to give it up at any time.
    await stage.create('healthy', { minReplicas: 0 })
    await stage.chat('healthy')
    await stage.untilModel('healthy', ({ status }) => status?.phase === 'Ready')
  }, minutes(4))
  afterAll(() => stage.destroy())

  it.each(broken)(
    'are refused at once with the reason, and take nobody’s card: %s',
    async (name, spec, reason, told) => {
      await stage.create(name, { minReplicas: 0, ...spec })
      const answer = await stage.chat(name)
      const { error } = (await answer.json()) as { error: { code: string; message: string } }
      expect([answer.status, error.code]).toEqual([503, 'model_unavailable'])
      expect(error.message).toMatch(told)
      const model = await stage.model(name)
      expect([model.status?.phase, reasonOf(model)]).toEqual(['Failed', reason])
    },
    minutes(2),
  )

  const reasonsAbout = async (name: string) => {
    const { items } = await stage.client.list(eventKind, { namespace })
    return items.filter(({ involvedObject }) => involvedObject.name === name).map((event) => event.reason)
  }

  it(
    'stay so, with one Event each, and were never tried',
    async () => {
      for (const [name] of broken) {
        // Events are written after the status.
        await expect.poll(() => reasonsAbout(name), { timeout: minutes(1) }).toContain('Failed')
        const about = await reasonsAbout(name)
        expect(about.filter((reason) => reason === 'Failed')).toEqual(['Failed'])
        expect(about).not.toContain('PodCreated')
        expect(about).not.toContain('TakesCard')
        expect((await stage.model(name)).status?.phase).toBe('Failed')
      }
      expect((await stage.pods()).map(({ metadata }) => metadata.labels?.['sluice.dev/model'])).toEqual(['healthy'])
      expect((await stage.chat('healthy')).status).toBe(200)
    },
    minutes(2),
  )

  it(
    'serve as soon as what is wrong is put right',
    async () => {
      mkdirSync(join(stage.folder, 'models/none'))
      copyFileSync(join(stage.folder, 'models/tiny/model.gguf'), join(stage.folder, 'models/none/model.gguf'))
      await stage.untilModel('missing', mayServe)
      await stage.client.patch(modelKind, { namespace, name: 'option' }, { spec: { args: [] } })
      await stage.untilModel('option', mayServe)
      await stage.client.delete(modelKind, { namespace, name: 'healthy' })
      expect((await stage.chat('missing')).status).toBe(200)
    },
    minutes(3),
  )
})
