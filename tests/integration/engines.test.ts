import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enginePortName } from '../../src/resources/model-labels.ts'
import { modelKind } from '../../src/resources/model.ts'
import { persistentVolumeClaimKind } from '../../src/resources/persistent-volume-claim.ts'
import { hangingLabEngine, labEngine, labImages } from '../support/lab-config.ts'
import { ModelStage, namespace } from '../support/model-stage.ts'

const card = 'nvidia.com/gpu-l40s'
const weights = 'x'.repeat(12_345)

const config = {
  images: labImages,
  engines: {
    Lab: labEngine,
    Cached: { ...labEngine, weightsCache: { volume: { persistentVolumeClaim: { claimName: 'cache' } }, size: '1Mi' } },
    Stuck: { ...hangingLabEngine, stalledSeconds: 6 },
  },
}

const stage = new ModelStage(['--gpus', `${card}=2`])
stage.addFlags('--config', join(stage.data, 'config.yaml'))

async function chatOf(model: string): Promise<unknown> {
  return (await stage.chat(model)).json()
}

describe('an engine that is nothing but data', () => {
  beforeAll(async () => {
    writeFileSync(join(stage.data, 'config.yaml'), JSON.stringify(config))
    await stage.start()
    mkdirSync(join(stage.folder, 'models'), { recursive: true })
    writeFileSync(join(stage.folder, 'models/weights.bin'), weights)
  })
  afterAll(() => stage.destroy())

  it('wakes for a request, with flags, port, health path and key of its own', async () => {
    const spec = {
      url: 'pvc://userdata/models/weights.bin',
      engine: 'Lab',
      resourceProfile: `${card}:2`,
      minReplicas: 0,
    }
    await stage.create('lab', spec)
    expect(await chatOf('lab')).toMatchObject({
      choices: [{ message: { content: `${weights.length} bytes, 2 cards` } }],
    })
    const embeddings = await fetch(`${stage.sluice.endpoints.gateway}/openai/v1/embeddings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'lab', input: 'ab' }),
    })
    expect(await embeddings.json()).toMatchObject({ data: [{ embedding: [97, 98] }] })
  })

  it('answers whoever has its key, which is its gateway', async () => {
    const pod = await stage.untilPod(({ status }) => status?.podIP !== undefined)
    const port = pod.spec.containers[0]?.ports?.find(({ name }) => name === enginePortName)?.containerPort
    expect(port).toBe(8123)
    const refused = await fetch(`http://${pod.status?.podIP}:${port}/v1/embeddings`, { method: 'POST', body: '{}' })
    expect(refused.status).toBe(401)
  })

  it('is named among those that there are, if a Model asks for another; requests for that one fail at once', async () => {
    await stage.create('steam', { engine: 'Steam', minReplicas: 0 })
    const told = 'The engine Steam is not known here. Known: Cached, Lab, LlamaCpp, Stuck, VLLM.'
    await stage.untilModel('steam', ({ status }) => status?.message === told)
    const answered = await stage.chat('steam')
    expect(answered.status).toBe(503)
    expect(await answered.json()).toMatchObject({ error: { message: expect.stringContaining(told) } })
    expect((await stage.pods()).filter(({ metadata }) => metadata.name.includes('steam'))).toEqual([])
  })

  it('is given up where its start shows no progress, and tried again', async () => {
    await stage.client.delete(modelKind, { namespace, name: 'lab' })
    const hang = join(stage.folder, 'models/hang')
    writeFileSync(hang, '')
    await stage.create('stuck', { url: 'pvc://userdata/models/weights.bin', engine: 'Stuck' })
    const told = async (pattern: RegExp) => {
      const { status } = await stage.untilModel('stuck', (model) => pattern.test(model.status?.message ?? ''))
      return status
    }
    expect(await told(/loading the model in .* for \d0? s; last log line \d0? s ago: shard 3 of 3\.$/)).toMatchObject({
      phase: 'Waking',
    })
    expect(await told(/failed: no progress for .*; last log line: shard 3 of 3\.$/)).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready', reason: 'Stalled' })]),
    })
    rmSync(hang)
    await stage.untilModel('stuck', ({ status }) => status?.phase === 'Ready')
    expect(await chatOf('stuck')).toMatchObject({ object: 'chat.completion' })
  })

  it('reads its files from a copy that its node keeps', async () => {
    await stage.client.delete(modelKind, { namespace, name: 'stuck' })
    const claim = { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Mi' } } }
    await stage.client.create(persistentVolumeClaimKind, { metadata: { name: 'cache', namespace }, spec: claim })
    const spec = { url: 'pvc://userdata/models/weights.bin', engine: 'Cached' }
    const entries = join(stage.data, 'volumes/cache/entries')
    await stage.create('cached', spec)
    const content = `${weights.length} bytes, 1 cards`
    expect(await chatOf('cached')).toMatchObject({ choices: [{ message: { content } }] })
    const [key = '', ...others] = readdirSync(entries)
    expect(others).toEqual([])
    expect(readFileSync(join(entries, key, 'files/weights.bin'), 'utf8')).toBe(weights)

    // Another Pod finds it there, and has the version that was there when it started.
    writeFileSync(join(stage.folder, 'models/weights.bin'), `${weights}more`)
    await stage.create('cached-later', spec)
    const longer = `${weights.length + 4} bytes, 1 cards`
    expect(await chatOf('cached-later')).toMatchObject({
      choices: [{ message: { content: longer } }],
    })
    expect(await chatOf('cached')).toMatchObject({ choices: [{ message: { content } }] })
    expect(readdirSync(entries)).toHaveLength(2)
  })
})
