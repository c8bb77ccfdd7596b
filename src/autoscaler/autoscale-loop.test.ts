import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import type { KubernetesObject, ObjectRef } from '../resources/kubernetes-object.ts'
import { idleWindowAnnotation } from '../resources/model-labels.ts'
import { AutoscaleLoop } from './autoscale-loop.ts'
import { FakeDemand, ModelCache, modelNamed } from './autoscale-stage.fixture.ts'

describe('AutoscaleLoop', () => {
  const clock = new FakeClock()
  let models: ModelCache
  let demand: FakeDemand
  let scaled: Array<[name: string, replicas: number]>
  let events: Array<[reason: string, message: string]>
  let onScale: (ref: ObjectRef, replicas: number) => Promise<void>
  let metrics: Metrics
  let loop: AutoscaleLoop
  let takenBack: string[]
  let foreseen: Array<[name: string, replicas: number, writes: number]>
  let begun: Promise<void>

  beforeEach(() => {
    models = new ModelCache()
    demand = new FakeDemand()
    scaled = []
    events = []
    foreseen = []
    takenBack = []
    begun = Promise.resolve()
    onScale = async ({ name }, replicas) => {
      const model = models.get({ name })!
      models.put({ ...model, spec: { ...model.spec, replicas } })
    }
    metrics = new Metrics()
    loop = new AutoscaleLoop({
      models,
      namespace: 'sluice',
      client: {
        async scale(_kind, ref, replicas) {
          scaled.push([ref.name, replicas])
          await onScale(ref, replicas)
        },
      },
      demand,
      events: {
        record: (_about: KubernetesObject, _type: string, reason: string, message: string) =>
          void events.push([reason, message]),
      },
      clock,
      log: silentLogger,
      metrics,
      idleWindowMs: 600_000,
      foresight: {
        replicas: ({ model: { name }, replicas }) => {
          foreseen.push([name, replicas, scaled.length])
          return () => void takenBack.push(name)
        },
        lastCall: () => begun,
      },
    })
  })

  afterEach(() => loop.stop())

  it('leaves nothing behind when it is stopped', async () => {
    models.put(modelNamed('m'))
    loop.start()
    demand.firstWaiter('m')
    await loop.stop()
    expect(demand.callbacks.size).toBe(0)
    expect(models.listeners).toBe(0)
    expect(clock.pendingTimers).toBe(0)
  })

  it('wakes a model at once on its first waiter and lets it sleep after the idle window and the delay', async () => {
    models.put(modelNamed('m'))
    demand.readings['m'] = { active: 0, waiting: 0 }
    loop.start()
    await clock.advance(10_500)
    expect(scaled).toEqual([])

    demand.firstWaiter('m')
    await clock.advance(0)
    expect(scaled).toEqual([['m', 1]])

    demand.readings['m'] = { active: 1, waiting: 0 }
    await clock.advance(60_000)
    demand.readings['m'] = { active: 0, waiting: 0 }
    await clock.advance(629_000)
    expect(scaled).toHaveLength(1)
    await clock.advance(2_000)
    expect(scaled).toEqual([
      ['m', 1],
      ['m', 0],
    ])
    expect(events.map(([reason]) => reason)).toEqual(['Woken', 'ScaledToZero'])
    expect(events[0]?.[1]).toMatch(/^Scaled from 0 to 1: a request arrived/)
    const text = await metrics.text()
    expect(text).toContain('sluice_autoscaler_changes_total{model="m",reason="Woken"} 1')
    expect(text).toContain('sluice_autoscaler_wanted_replicas{model="m"} 0')
  })

  it('tells of more replicas before they are written, writes them when those who were told have begun, and never tells of fewer', async () => {
    const beginning = Promise.withResolvers<void>()
    begun = beginning.promise
    models.put(modelNamed('m'))
    loop.start()
    demand.firstWaiter('m')
    await clock.advance(0)
    expect(foreseen).toEqual([['m', 1, 0]])
    expect(scaled).toEqual([])
    beginning.resolve()
    await clock.advance(0)
    expect(scaled).toEqual([['m', 1]])
    onScale = async () => models.put(modelNamed('m', { replicas: 0 }))
    models.put(modelNamed('m', { replicas: 1 }))
    demand.readings['m'] = { active: 0, waiting: 0 }
    await clock.advance(700_000)
    expect(scaled).toContainEqual(['m', 0])
    expect(foreseen).toHaveLength(1)
    expect(takenBack).toEqual([])
  })

  it('takes back what it told when the replicas are not written', async () => {
    onScale = async () => Promise.reject(new Error('no'))
    models.put(modelNamed('m'))
    loop.start()
    demand.firstWaiter('m')
    await clock.advance(0)
    expect([foreseen, takenBack]).toEqual([[['m', 1, 0]], ['m']])
  })

  it('writes a change once, though the cache shows it late', async () => {
    onScale = async () => {}
    models.put(modelNamed('m'))
    loop.start()
    demand.firstWaiter('m')
    await clock.advance(8_000)
    expect(scaled).toEqual([['m', 1]])
  })

  it('believes the cluster again when what was written never shows', async () => {
    onScale = async () => {}
    models.put(modelNamed('m'))
    loop.start()
    demand.firstWaiter('m')
    await clock.advance(12_000)
    expect(scaled).toEqual([
      ['m', 1],
      ['m', 1],
    ])
  })

  it('tries again a second later when the cluster refuses', async () => {
    onScale = () => Promise.reject(new Error('no'))
    models.put(modelNamed('m'))
    loop.start()
    demand.firstWaiter('m')
    await clock.advance(2_500)
    expect(scaled.length).toBeGreaterThanOrEqual(3)
    expect(events).toEqual([])
    expect(await metrics.text()).toContain('sluice_autoscaler_scale_failures_total{model="m"}')
  })

  it('asks a cluster that refuses for ever less and less often, however many come to wait', async () => {
    onScale = () => Promise.reject(new Error('no'))
    models.put(modelNamed('m'))
    loop.start()
    demand.readings['m'] = { active: 0, waiting: 1 }
    for (let second = 0; second < 600; second += 1) {
      demand.firstWaiter('m')
      await clock.advance(1_000)
    }
    expect(scaled.length).toBeLessThan(30)
  })

  it('holds while demand is unknown, and watches anew when it is known again', async () => {
    models.put(modelNamed('m', { replicas: 1 }))
    demand.readings['m'] = { active: 0, waiting: 0 }
    loop.start()
    await clock.advance(600_000)
    demand.readings['m'] = undefined
    await clock.advance(100_000)
    demand.readings['m'] = { active: 0, waiting: 0 }
    await clock.advance(629_000)
    expect(scaled).toEqual([])
    await clock.advance(3_000)
    expect(scaled).toEqual([['m', 0]])
  })

  it('never scales down right after a start', async () => {
    models.put(modelNamed('m', { replicas: 4, maxReplicas: 5 }))
    demand.readings['m'] = { active: 0, waiting: 0 }
    loop.start()
    await clock.advance(85_000)
    expect(scaled).toEqual([])
  })

  it('takes the idle window of a Model from its annotation, and ignores nonsense there', async () => {
    models.put(modelNamed('quick', { replicas: 1, scaleDownDelaySeconds: 0 }, { [idleWindowAnnotation]: '5' }))
    models.put(modelNamed('typo', { replicas: 1, scaleDownDelaySeconds: 0 }, { [idleWindowAnnotation]: 'five' }))
    demand.readings = { quick: { active: 0, waiting: 0 }, typo: { active: 0, waiting: 0 } }
    loop.start()
    await clock.advance(10_000)
    expect(scaled).toEqual([['quick', 0]])
  })

  it('gives a Model that was just applied its minimum at once', async () => {
    loop.start()
    models.put(modelNamed('m', { minReplicas: 2, maxReplicas: 3, replicas: 0 }))
    await clock.advance(0)
    expect(scaled).toEqual([['m', 2]])
    expect(events.map(([reason]) => reason)).toEqual(['RaisedToMinimum'])
  })

  it('decides again at once for a waiter that came while another change was being written', async () => {
    const written = Promise.withResolvers<void>()
    const write = onScale
    onScale = async (ref, replicas) => {
      if (replicas === 0) await written.promise
      await write(ref, replicas)
    }
    models.put(modelNamed('m', { replicas: 1, scaleDownDelaySeconds: 0 }, { [idleWindowAnnotation]: '2' }))
    demand.readings['m'] = { active: 0, waiting: 0 }
    loop.start()
    await clock.advance(2_500)
    expect(scaled).toEqual([['m', 0]])
    demand.firstWaiter('m')
    await clock.advance(0)
    expect(scaled).toHaveLength(1)
    written.resolve()
    await clock.advance(0)
    expect(scaled).toEqual([
      ['m', 0],
      ['m', 1],
    ])
  })

  it('gives up a write that the cluster does not answer, and goes on', async () => {
    const signals: AbortSignal[] = []
    onScale = () => new Promise(() => {})
    loop = new AutoscaleLoop({
      models,
      namespace: 'sluice',
      client: {
        scale: (_kind, _ref, _replicas, signal) =>
          new Promise((_resolve, reject) => {
            signals.push(signal!)
            signal!.addEventListener('abort', () => reject(new Error('aborted')))
          }),
      },
      demand,
      events: { record: () => {} },
      clock,
      log: silentLogger,
      metrics: new Metrics(),
      idleWindowMs: 600_000,
    })
    models.put(modelNamed('m'))
    loop.start()
    demand.firstWaiter('m')
    await clock.advance(10_500)
    expect(signals[0]?.aborted).toBe(true)
    expect(signals.length).toBe(2)
  })

  it('keeps a model that somebody woke without a request for an idle window, and tells until when', async () => {
    models.put(modelNamed('m', { replicas: 0, scaleDownDelaySeconds: 30 }))
    demand.readings['m'] = { active: 0, waiting: 0 }
    loop.start()
    await clock.advance(3_600_000)
    const wokenAt = clock.now()
    models.put(modelNamed('m', { replicas: 1, scaleDownDelaySeconds: 30 }))
    await clock.advance(600_000)
    expect(scaled).toEqual([])
    expect(await metrics.text()).toContain(
      `sluice_autoscaler_sleeps_at_seconds{model="m"} ${(wokenAt + 630_000) / 1000}\n`,
    )
    await clock.advance(32_000)
    expect(scaled).toEqual([['m', 0]])
    expect(await metrics.text()).not.toContain('sluice_autoscaler_sleeps_at_seconds{')
  })

  it('leaves a model asleep that somebody put to sleep, until there is a request', async () => {
    models.put(modelNamed('m', { replicas: 1 }))
    demand.readings['m'] = { active: 0, waiting: 0 }
    loop.start()
    await clock.advance(5_000)
    models.put(modelNamed('m', { replicas: 0 }))
    await clock.advance(5_000)
    expect(scaled).toEqual([])
    demand.firstWaiter('m')
    await clock.advance(0)
    expect(scaled).toEqual([['m', 1]])
  })

  it('leaves it asleep, too, for a request that was answered just before', async () => {
    models.put(modelNamed('m', { replicas: 1 }))
    demand.readings['m'] = { active: 0, waiting: 0 }
    loop.start()
    await clock.advance(5_000)
    demand.lastActive['m'] = clock.now() + 100
    await clock.advance(200)
    models.put(modelNamed('m', { replicas: 0 }))
    await clock.advance(5_000)
    expect(scaled).toEqual([])
  })

  it('forgets a deleted Model', async () => {
    const model = modelNamed('m', { replicas: 1 })
    models.put(model)
    demand.readings['m'] = { active: 3, waiting: 0 }
    loop.start()
    await clock.advance(2_000)
    models.remove(model)
    await clock.advance(2_000)
    expect(await metrics.text()).not.toContain('model="m"')
  })

  it('keeps the limits of Models elsewhere, but does not take their names for those it knows the demand of', async () => {
    const elsewhere = modelNamed('m', { replicas: 0 })
    elsewhere.metadata.namespace = 'other'
    models.put(elsewhere)
    loop.start()
    demand.firstWaiter('m')
    await clock.advance(2_000)
    expect(scaled).toEqual([])
  })
})
