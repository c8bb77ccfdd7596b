import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { engineKeyVariable, engineKeysName, engineKeysType } from '../../resources/engine-keys.ts'
import { modelLabel } from '../../resources/model-labels.ts'
import { type Model, modelKind } from '../../resources/model.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { HeldObjects } from '../../resources/object-cache.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { type Secret, secretSchema } from '../../resources/secret.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { ownerReferenceTo } from '../model-pod.ts'
import { podTrouble } from '../pod-trouble.ts'
import { modelStarts } from './model-starts.ts'
import { stalledAnnotation } from './start-progress.ts'

const namespace = 'sluice'
const key = 'k'.repeat(64)

describe('the starts of a Model’s Pods', () => {
  let clock: FakeClock
  let client: EmbeddedClient
  let stopping: AbortController
  let running: Promise<void>
  let tail: string
  let answer: unknown
  let told: string[]
  let pods: HeldObjects<Pod>
  let watch: ReturnType<typeof modelStarts>

  beforeEach(async () => {
    clock = new FakeClock()
    const api = new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock })
    client = new EmbeddedClient(api)
    await client.create(namespaceKind, { metadata: { name: namespace } })
    const models = new HeldObjects<Model>()
    const secrets = new HeldObjects<Secret>()
    pods = new HeldObjects<Pod>()
    models.put(await client.create(modelKind, { metadata: { name: 'm', namespace }, spec: modelSpec }))
    const data = { 'key-1': Buffer.from(key).toString('base64') }
    const metadata = { name: engineKeysName('m'), namespace }
    secrets.put(secretSchema.parse({ apiVersion: 'v1', kind: 'Secret', type: engineKeysType, metadata, data }))
    told = []
    tail = `T api_key='${key}', loading`
    const events = {
      record: (_about: unknown, _type: string, reason: string, message: string) =>
        void told.push(`${reason}: ${message}`),
    }
    const parts = { client, models, pods, secrets, events, clock, log: silentLogger }
    answer = undefined
    const asked = { readLogTail: async () => tail, askHealth: async () => answer }
    watch = modelStarts({ ...parts, ...asked }, () => {})
    stopping = new AbortController()
    running = watch.run(stopping.signal)
  })
  afterEach(async () => {
    stopping.abort()
    await running
  })

  const startupProbe = { httpGet: { path: '/health', port: 8900 } }
  const modelSpec = { url: 'pvc://userdata/m', engine: 'LlamaCpp' }

  async function loadingPod(name: string): Promise<Pod> {
    const model = await client.get(modelKind, { namespace, name: 'm' })
    if (!model) throw new Error('no Model')
    const pod = await client.create(podKind, {
      metadata: { name, namespace, labels: { [modelLabel]: 'm' }, ownerReferences: [ownerReferenceTo(model)] },
      spec: {
        containers: [
          { name: 'engine', image: 'i', env: [engineKeyVariable('LLAMA_API_KEY', 'm', 'key-1')], startupProbe },
        ],
      },
    })
    const container = { name: 'engine', ready: false, restartCount: 0, image: 'i', imageID: 'i' }
    const containerStatuses = [{ ...container, started: false, state: { running: {} } }]
    const loading = await client.updateStatus(podKind, {
      ...pod,
      status: { phase: 'Running', podIP: '10.0.0.7', containerStatuses },
    })
    pods.put(loading)
    return loading
  }

  it('are told without the key of their engine', async () => {
    const pod = await loadingPod('a')
    await clock.advance(70_000)
    const message = podTrouble(pod, watch.progressOf(pod))?.message
    expect(message).toBe(
      "The engine is loading the model in a for 1 min; last log line 1 min ago: api_key='…', loading.",
    )
  })

  it('end as failed where nothing happens, with an Event, and the Model says why', async () => {
    const pod = await loadingPod('a')
    await clock.advance(615_000)
    const ended = await client.get(podKind, { namespace, name: pod.metadata.name })
    const why = "no progress for 10 min; last log line: api_key='…', loading"
    expect(ended).toMatchObject({
      metadata: { annotations: { [stalledAnnotation]: why } },
      spec: { activeDeadlineSeconds: 1 },
    })
    expect(told).toContain(`Stalled: Pod a is given up: ${why}`)
    if (!ended) return
    const failed = { ...ended, status: { phase: 'Failed' as const, reason: 'DeadlineExceeded', message: 'too long' } }
    expect(podTrouble(failed)).toMatchObject({ reason: 'Stalled', message: `a failed: ${why}.` })
  })

  it('that stop to move are told by an Event, once, and one when they go on; slow ones are left alone', async () => {
    const pod = await loadingPod('a')
    const reading = (bytes: number, stillSeconds: number) => ({
      phase: 'reading',
      bytes,
      totalBytes: 1e9,
      stillSeconds,
    })
    for (let minute = 0; minute < 55; minute++) {
      answer = reading(400_000_000 + minute, 5)
      await clock.advance(60_000)
    }
    expect(told).toEqual([])
    answer = reading(450_000_000, 0)
    await clock.advance(2_000)
    answer = reading(450_000_000, 60)
    await clock.advance(120_000)
    expect(told).toEqual([
      expect.stringMatching(
        /^LoadingStalled: Pod a: its files are being read, 45 % \(0\.5 of 1\.0 GB\), since 2030-01-01T/,
      ),
    ])
    expect(podTrouble(pod, watch.progressOf(pod))).toMatchObject({ reason: 'LoadingStalled' })
    answer = reading(460_000_000, 0)
    await clock.advance(2_000)
    expect(told[1]).toBe('LoadingResumed: Pod a: its files are being read, 46 % (0.5 of 1.0 GB)')
    expect(await client.get(podKind, { namespace, name: 'a' })).not.toHaveProperty('spec.activeDeadlineSeconds')
  })

  it('are left alone if they are gone meanwhile', async () => {
    await loadingPod('a')
    await client.delete(podKind, { namespace, name: 'a' }, { graceSeconds: 0 })
    await clock.advance(700_000)
    expect(told).toEqual([])
  })
})
