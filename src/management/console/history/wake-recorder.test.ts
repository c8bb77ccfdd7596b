import { beforeEach, describe, expect, it } from 'vitest'
import { modelLabel } from '../../../resources/model-labels.ts'
import { type Model, modelSchema } from '../../../resources/model.ts'
import { HeldObjects } from '../../../resources/object-cache.ts'
import { type Pod, podSchema } from '../../../resources/pod.ts'
import { WakeRecorder } from './wake-recorder.ts'

const startedAt = Date.parse('2030-01-01T00:00:00Z')

function model(loading?: string): Model {
  const load = { phase: loading, progress: '1 %', since: '', movedAt: '' }
  return modelSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name: 'tiny', namespace: 'sluice', uid: 'm' },
    spec: { url: 'pvc://userdata/models/tiny', engine: 'LlamaCpp' },
    ...(loading === undefined ? {} : { status: { loading: load } }),
  })
}

function pod(name: string, about: { node?: boolean; ready?: boolean; phase?: string } = {}): Pod {
  const owner = { apiVersion: 'sluice.dev/v1', kind: 'Model', name: 'tiny', uid: 'm', controller: true }
  return podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'sluice',
      uid: name,
      labels: { [modelLabel]: 'tiny' },
      ownerReferences: [owner],
      creationTimestamp: '2030-01-01T00:00:00Z',
    },
    spec: { ...(about.node ? { nodeName: 'n' } : {}), containers: [{ name: 'c' }] },
    status: {
      phase: about.phase ?? 'Pending',
      conditions: about.ready ? [{ type: 'Ready', status: 'True' }] : [],
    },
  })
}

describe('WakeRecorder', () => {
  let time: number
  let models: HeldObjects<Model>
  let pods: HeldObjects<Pod>
  let recorder: WakeRecorder

  beforeEach(() => {
    time = startedAt
    models = new HeldObjects()
    pods = new HeldObjects()
    models.put(model())
    recorder = new WakeRecorder({ models, pods, now: () => time, onChange: () => {} })
    recorder.start()
  })

  it('writes down each step of a start once, until the Pod is ready', () => {
    pods.put(pod('a'))
    time += 100
    pods.put(pod('a', { node: true }))
    time += 400
    models.put(model('Reading'))
    models.put(model('Reading'))
    time += 2_000
    models.put(model('Loading'))
    time += 1_000
    pods.put(pod('a', { node: true, ready: true }))
    models.put(model('Preparing'))
    expect(recorder.list()).toEqual([
      {
        id: 'a',
        model: 'tiny',
        pod: 'a',
        steps: [
          { name: 'Placing', at: startedAt },
          { name: 'Starting', at: startedAt + 100 },
          { name: 'Reading', at: startedAt + 500 },
          { name: 'Loading', at: startedAt + 2_500 },
        ],
        endedAt: startedAt + 3_500,
        outcome: 'ready',
      },
    ])
  })

  it('tells nothing of Pods that were there before, which may become ready again after a restart', () => {
    recorder.stop()
    pods.put(pod('old'))
    recorder.start()
    pods.put(pod('old', { node: true, ready: true }))
    expect(recorder.list()).toEqual([])
  })

  it('tells a start that failed from one that was stopped', () => {
    pods.put(pod('a'))
    pods.put(pod('a', { phase: 'Failed' }))
    pods.put(pod('b'))
    pods.remove({ namespace: 'sluice', name: 'b' })
    expect(recorder.list().map(({ pod: name, outcome }) => [name, outcome])).toEqual([
      ['b', 'stopped'],
      ['a', 'failed'],
    ])
  })

  it('remembers no more than its bound', () => {
    for (let at = 0; at < 300; at += 1) pods.put(pod(`p${at}`))
    expect(recorder.list()).toHaveLength(100)
    expect(recorder.list()[0]?.pod).toBe('p299')
  })
})
