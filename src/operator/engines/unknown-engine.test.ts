import { describe, expect, it } from 'vitest'
import { factsWith, modelWith, podNamed } from '../plan-pods.fixture.ts'
import { planPods } from '../plan-pods.ts'
import { parseEngines } from './engine-file.ts'

const engines = parseEngines({ SGLang: { image: 'sglang', key: 'none' } }, '--config')

describe('a Model whose engine nobody knows', () => {
  it.each([{ replicas: 0 }, { replicas: 1 }])('says so, names those there are, and takes no card: %j', (spec) => {
    const { create, status } = planPods(modelWith({ engine: 'Steam', ...spec }), [], factsWith({ engines }))
    const message = 'The engine Steam is not known here. Known: LlamaCpp, SGLang, VLLM.'
    expect(create).toEqual([])
    expect(status).toMatchObject({ phase: 'Failed', message })
    expect(status.conditions).toContainEqual(
      expect.objectContaining({ type: 'EngineAvailable', status: 'False', message }),
    )
    expect(status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', reason: 'EngineUnknown' }))
  })

  it('keeps the Pods it has: they were started with an engine that was known then', () => {
    const pod = podNamed('a', { ready: true })
    const plan = planPods(modelWith({ engine: 'Steam', replicas: 1 }), [pod], factsWith({ engines }))
    expect(plan).toMatchObject({ create: [], drain: [], delete: [], status: { phase: 'Ready' } })
  })

  it('starts once there is such an engine', () => {
    const { create } = planPods(modelWith({ engine: 'SGLang', replicas: 1 }), [], factsWith({ engines }))
    expect(create[0]?.spec.containers[0]?.image).toBe('sglang')
  })
})
