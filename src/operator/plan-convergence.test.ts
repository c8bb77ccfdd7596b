import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drainingAnnotation, modelHashLabel } from '../resources/model-labels.ts'
import { modelSchema } from '../resources/model.ts'
import { type Pod, isPodReady, podSchema } from '../resources/pod.ts'
import type { NewPod } from './model-pod.ts'
import type { OperatorFacts } from './operator-facts.ts'
import { planPods } from './plan-pods.ts'
import { isDraining } from './plan-replicas.ts'
import { builtInProfiles } from './resource-profile.ts'

/** A cluster in miniature: cards, Pods that start after a while, and Pods whose requests end after a while. */
class TinyCluster {
  now = Date.UTC(2030, 0, 1)
  pods: Pod[] = []
  readonly #cards: number
  readonly #busyUntil = new Map<string, number>()
  #created = 0

  constructor(cards: number) {
    this.#cards = cards
  }

  get facts(): OperatorFacts {
    return {
      now: this.now,
      registry: 'r',
      version: '1',
      files: { state: 'present' },
      profiles: { table: builtInProfiles, cardKinds: ['nvidia.com/gpu-l40s'] },
      drainDeadlineMs: 600_000,
      drainingMs: ({ metadata }) => this.now - Date.parse(metadata.annotations?.[drainingAnnotation] ?? ''),
      busy: (name) => ((this.#busyUntil.get(name) ?? 0) > this.now ? 1 : 0),
      suffix: (index) => `${this.#created}-${index}`,
    }
  }

  add(pod: NewPod, state: { phase?: string; ready?: boolean; busyMs?: number } = {}): void {
    this.#created++
    const { phase = 'Pending', ready = false, busyMs = 0 } = state
    this.#busyUntil.set(pod.metadata.name, this.now + busyMs)
    this.pods.push(podWith(pod, phase, ready))
  }

  /** Time passes: placed Pods become ready, others learn that there is no room, and deleted ones are gone. */
  tick(ms = 1_000): void {
    this.now += ms
    this.pods = this.pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    let free = this.#cards - this.pods.filter(({ status }) => status?.phase === 'Running').length
    this.pods = this.pods.map((pod) => {
      if (pod.status?.phase !== 'Pending') return pod
      return free-- > 0 ? podWith(pod, 'Running', true) : podWith(pod, 'Pending', false, true)
    })
  }

  apply(plan: ReturnType<typeof planPods>): void {
    const change = (pods: readonly Pod[], metadata: Record<string, unknown>) => {
      const names = new Set(pods.map(({ metadata: { name } }) => name))
      this.pods = this.pods.map((pod) =>
        names.has(pod.metadata.name) ? { ...pod, metadata: { ...pod.metadata, ...metadata } } : pod,
      )
    }
    change(plan.drain, { annotations: { [drainingAnnotation]: new Date(this.now).toISOString() } })
    change(plan.recall, { annotations: {} })
    change(plan.delete, { deletionTimestamp: new Date(this.now).toISOString() })
    for (const pod of plan.create) this.add(pod, { busyMs: 3_000 })
  }
}

function podWith(pod: NewPod | Pod, phase: string, ready: boolean, unschedulable = false): Pod {
  const noRoom = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no card' }
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }, ...(unschedulable ? [noRoom] : [])]
  return podSchema.parse({ ...pod, apiVersion: 'v1', kind: 'Pod', status: { phase, conditions } })
}

function modelWith(replicas: number, args: string[]) {
  return modelSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name: 'm', namespace: 'sluice', uid: 'u' },
    spec: { url: 'pvc://userdata/x', engine: 'LlamaCpp', maxReplicas: 10, replicas, args },
  })
}

const steps = fc.array(
  fc.record({
    replicas: fc.nat(6),
    spec: fc.constantFrom('a', 'b'),
    seconds: fc.integer({ min: 1, max: 8 }),
    failing: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
)

function fail(cluster: TinyCluster): void {
  const [first, ...others] = cluster.pods
  if (first) cluster.pods = [podWith(first, 'Failed', false), ...others]
}

describe('plans, carried out one after the other', () => {
  it('end with exactly the Pods that are wanted, whatever happened before', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 8 }), (story, cards) => {
        const cluster = new TinyCluster(cards)
        let model = modelWith(0, [])
        const step = (ms?: number) => {
          cluster.apply(planPods(model, cluster.pods, cluster.facts))
          cluster.tick(ms)
        }
        for (const { replicas, spec, seconds, failing } of story) {
          model = modelWith(replicas, [spec])
          if (failing) fail(cluster)
          for (let second = 0; second < seconds; second++) step()
        }
        for (let round = 0; round < 50; round++) step(20_000)

        const plan = planPods(model, cluster.pods, cluster.facts)
        expect([plan.create, plan.drain, plan.recall, plan.delete].flat()).toEqual([])
        const desired = model.spec.replicas ?? 0
        expect(cluster.pods).toHaveLength(desired)
        expect(cluster.pods.filter(isPodReady)).toHaveLength(Math.min(desired, cards))
        expect(new Set(cluster.pods.map(({ metadata }) => metadata.labels?.[modelHashLabel])).size).toBe(
          Math.min(1, desired),
        )
        const phase = desired === 0 ? 'Asleep' : 'Ready'
        expect(plan.status.phase).toBe(phase)
      }),
      { numRuns: 100 },
    )
  })

  it('roll a changed spec without serving with fewer Pods, and with one card more than they need', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), (replicas) => {
        const cluster = new TinyCluster(100)
        const run = (args: string[], seconds: number, watch: () => void) => {
          for (let second = 0; second < seconds; second++) {
            cluster.apply(planPods(modelWith(replicas, args), cluster.pods, cluster.facts))
            cluster.tick()
            watch()
          }
        }
        run(['a'], 5, () => {})
        run(['b'], 8 * replicas, () => {
          const serving = cluster.pods.filter((pod) => isPodReady(pod) && !isDraining(pod)).length
          expect(serving).toBeGreaterThanOrEqual(replicas)
          expect(cluster.pods.length).toBeLessThanOrEqual(replicas + 1)
        })
        const [hash, ...others] = new Set(cluster.pods.map(({ metadata }) => metadata.labels?.[modelHashLabel]))
        expect(hash).toBeDefined()
        expect(others).toEqual([])
      }),
      { numRuns: 10 },
    )
  })
})
