import { describe, expect, it, onTestFinished } from 'vitest'
import { AutoscaleStage, modelNamed } from './autoscale-stage.fixture.ts'
import { modelSchema } from '../resources/model.ts'
import type { Cards } from './cards.ts'

const kind = 'nvidia.com/gpu-l40s'

/** Two cards on one node, held by whoever has replicas, in the order of their names. */
function setUp(options: { takeIdleCards?: boolean } = {}) {
  const all = 2
  const cards: Cards = {
    perReplica: () => ({ kind, count: 1 }),
    holdings() {
      const heldBy = new Map<string, number>()
      let free = all
      for (const { metadata, spec } of stage.models.list()) {
        const held = Math.min(free, spec.replicas ?? 0)
        if (held > 0) heldBy.set(`sluice/${metadata.name}`, held)
        free -= held
      }
      return { freeByNode: [free], cardsByNode: [all], heldBy, wantedBy: new Map() }
    },
  }
  const stage = new AutoscaleStage({ cards, ...options })
  onTestFinished(() => stage.loop.stop())
  for (const [name, replicas] of [
    ['a', 1],
    ['b', 1],
    ['z', 0],
  ] as const) {
    stage.models.put(modelNamed(name, { replicas }))
    stage.demand.readings[name] = { active: 0, waiting: 0 }
  }
  stage.demand.lastActive = { a: stage.clock.now() - 60_000, b: stage.clock.now() - 30_000 }
  stage.loop.start()
  return stage
}

describe('AutoscaleLoop when cards are short', () => {
  it('gives a model that somebody waits for the card of the longest idle one', async () => {
    const stage = setUp()
    await stage.clock.advance(2_000)
    stage.demand.firstWaiter('z')
    await stage.clock.advance(3_000)
    expect(stage.scaled.map(({ name, replicas }) => [name, replicas])).toEqual([
      ['z', 1],
      ['a', 0],
    ])
    expect(stage.events).toEqual(expect.arrayContaining(['z Woken', 'a CardTaken', 'z TakesCard']))
  })

  it.each([
    ['that cannot start', { phase: 'Failed', observedGeneration: 2 }],
    ['nobody has looked at since it changed', { phase: 'Asleep', observedGeneration: 1 }],
    ['nobody has looked at', undefined],
  ])('takes none for a model %s', async (_, status) => {
    const stage = setUp()
    const model = modelNamed('z', { replicas: 0 })
    stage.models.put(modelSchema.parse({ ...model, metadata: { ...model.metadata, generation: 2 }, status }))
    await stage.clock.advance(2_000)
    stage.demand.firstWaiter('z')
    await stage.clock.advance(60_000)
    expect(stage.events).not.toContain('a CardTaken')
    expect([stage.replicas('a'), stage.replicas('b')]).toEqual([1, 1])
  })

  it('never takes that of a model with a request, and takes it when the request is over', async () => {
    const stage = setUp()
    stage.demand.readings = { a: { active: 1, waiting: 0 }, b: { active: 1, waiting: 0 }, z: { active: 0, waiting: 0 } }
    await stage.clock.advance(2_000)
    stage.demand.firstWaiter('z')
    await stage.clock.advance(60_000)
    expect(stage.scaled.map(({ name }) => name)).toEqual(['z'])
    stage.demand.readings['b'] = { active: 0, waiting: 0 }
    stage.demand.lastActive['b'] = stage.clock.now()
    await stage.clock.advance(9_000)
    expect(stage.replicas('b')).toBe(1)
    await stage.clock.advance(3_000)
    expect(stage.replicas('b')).toBe(0)
  })

  it('takes nothing where it is turned off', async () => {
    const stage = setUp({ takeIdleCards: false })
    await stage.clock.advance(2_000)
    stage.demand.firstWaiter('z')
    await stage.clock.advance(60_000)
    expect(stage.scaled.map(({ name }) => name)).toEqual(['z'])
  })

  it('asks for no more replicas than there are cards for', async () => {
    const stage = setUp()
    stage.models.put(modelNamed('b', { replicas: 1, maxReplicas: 9, targetRequests: 1 }))
    stage.models.put(modelNamed('a', { replicas: 0 }))
    stage.demand.readings['b'] = { active: 7, waiting: 0 }
    await stage.clock.advance(2_000)
    expect(stage.replicas('b')).toBe(2)
  })
})
