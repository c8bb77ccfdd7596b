import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drainingAnnotation, modelHashLabel } from '../../resources/model-labels.ts'
import { modelSchema } from '../../resources/model.ts'
import { type Pod, isPodFinished, isPodReady, isPodTerminating, podSchema } from '../../resources/pod.ts'
import { isGated, membershipOf, placingAnnotation } from '../../resources/serving-group.ts'
import type { NewPod } from '../model-pod.ts'
import type { OperatorFacts } from '../operator-facts.ts'
import { type PodPlan, planPods } from '../plan-pods.ts'
import { builtInProfiles } from '../resource-profile.ts'

const card = 'nvidia.com/gpu-h800'
const size = 2

/**
 * A cluster in miniature whose scheduler knows nothing of groups: it places the Pods that may be placed one by one, in
 * any order, and others take places in between.
 */
class TinyCluster {
  now = Date.UTC(2030, 0, 1)
  pods: Pod[] = []
  /** Nodes that somebody else has. */
  taken = 0
  readonly #nodes: number
  #created = 0

  constructor(nodes: number) {
    this.#nodes = nodes
  }

  get free(): number {
    return this.#nodes - this.taken - this.pods.filter((pod) => pod.spec.nodeName && !isPodFinished(pod)).length
  }

  get facts(): OperatorFacts {
    return {
      now: this.now,
      registry: 'r',
      version: '1',
      files: { state: 'present' },
      profiles: {
        table: builtInProfiles,
        cardKinds: [card],
        nodeCards: new Map([[card, Array.from({ length: this.#nodes }, () => 8)]]),
      },
      drainDeadlineMs: 600_000,
      drainingMs: ({ metadata }) => this.now - Date.parse(metadata.annotations?.[drainingAnnotation] ?? ''),
      busy: () => 0,
      groupRoom: { lack: (pods) => (this.free >= pods.length ? undefined : 'no room') },
      suffix: (index) => `${this.#created}-${index}`,
    }
  }

  /** Time passes: what may be placed is, where there is room; what is placed becomes ready; what is deleted is gone. */
  tick(ms: number, isReversed: boolean): void {
    this.now += ms
    this.pods = this.pods.filter((pod) => !isPodTerminating(pod))
    const waiting = this.pods.filter((pod) => !pod.spec.nodeName && !isGated(pod) && !isPodFinished(pod))
    for (const pod of isReversed ? waiting.toReversed() : waiting) {
      if (this.free > 0) this.#change([pod], (one) => podWith(one, { nodeName: 'n', phase: 'Running', ready: true }))
    }
  }

  apply(plan: PodPlan): void {
    const annotate = (annotations: Record<string, string>) => (pod: Pod) => ({
      ...pod,
      metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...annotations } },
    })
    const at = new Date(this.now).toISOString()
    this.#change(plan.drain, annotate({ [drainingAnnotation]: at }))
    this.#change(plan.recall, (pod) => {
      const { [drainingAnnotation]: _since, ...annotations } = pod.metadata.annotations ?? {}
      return { ...pod, metadata: { ...pod.metadata, annotations } }
    })
    this.#change(plan.delete, (pod) => ({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: at } }))
    // As the operator does it: room that one group was promised is not promised to another.
    let promised = 0
    for (const group of plan.lift) {
      if (this.free - promised < group.length) continue
      promised += group.length
      this.#change(group, (pod) => annotate({ [placingAnnotation]: at })(podWith(pod, { gated: false })))
    }
    for (const pod of plan.create) {
      this.#created++
      const metadata = { ...pod.metadata, uid: `uid-${pod.metadata.name}`, creationTimestamp: at }
      this.pods.push(podWith({ ...pod, metadata }, {}))
    }
  }

  /** Something happens to one of the Pods. */
  hit(index: number, what: 'fails' | 'is deleted' | 'vanishes'): void {
    const pod = this.pods[index % Math.max(1, this.pods.length)]
    if (!pod) return
    if (what === 'vanishes') this.pods = this.pods.filter((one) => one !== pod)
    else if (what === 'fails') this.#change([pod], (one) => podWith(one, { phase: 'Failed' }))
    else this.#change([pod], (one) => ({ ...one, metadata: { ...one.metadata, deletionTimestamp: 'now' } }))
  }

  #change(pods: readonly Pod[], how: (pod: Pod) => Pod): void {
    const names = new Set(pods.map(({ metadata }) => metadata.name))
    this.pods = this.pods.map((pod) => (names.has(pod.metadata.name) ? how(pod) : pod))
  }
}

interface Change {
  readonly nodeName?: string
  readonly phase?: string
  readonly ready?: boolean
  readonly gated?: boolean
}

function podWith(pod: NewPod | Pod, { nodeName, phase = 'Pending', ready = false, gated }: Change): Pod {
  const spec = {
    ...pod.spec,
    ...(nodeName !== undefined && { nodeName }),
    ...(gated === false && { schedulingGates: [] }),
  }
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }]
  return podSchema.parse({ ...pod, spec, apiVersion: 'v1', kind: 'Pod', status: { phase, conditions } })
}

function modelWith(replicas: number, args: string[]) {
  return modelSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name: 'm', namespace: 'sluice', uid: 'u' },
    spec: { url: 'pvc://userdata/x', engine: 'VLLM', resourceProfile: `${card}:16`, maxReplicas: 10, replicas, args },
  })
}

const groupsOf = (pods: readonly Pod[]) => [...Map.groupBy(pods, (pod) => membershipOf(pod)?.group).values()]
const isWhole = (group: readonly Pod[]) =>
  group.length === size && !group.some(isPodFinished) && !group.some(isPodTerminating)

/** Pods that could have been placed long ago. */
const overdue = (pods: readonly Pod[], now: number) =>
  pods.filter(({ metadata }) => now - Date.parse(metadata.annotations?.[placingAnnotation] ?? '') >= 30_000)

/** What must hold whenever a plan has been carried out. */
function check(cluster: TinyCluster, plan: PodPlan): void {
  for (const group of groupsOf(cluster.pods)) {
    const ranks = group.map((pod) => membershipOf(pod)?.rank)
    expect(new Set(ranks).size).toBe(ranks.length)
    const kept = group.filter((pod) => !isPodFinished(pod) && !isPodTerminating(pod))
    expect(isWhole(group) ? [] : kept).toEqual([])
    const isPlaced = kept.every(({ spec }) => spec.nodeName)
    expect(isPlaced ? [] : overdue(kept, cluster.now)).toEqual([])
  }
  const wholes = new Set(
    groupsOf(cluster.pods)
      .filter(isWhole)
      .flat()
      .map(({ metadata }) => metadata.name),
  )
  for (const pod of plan.lift.flat()) expect(wholes).toContain(pod.metadata.name)
}

const story = fc.array(
  fc.record({
    replicas: fc.nat(3),
    spec: fc.constantFrom('a', 'b'),
    steps: fc.integer({ min: 1, max: 6 }),
    ms: fc.constantFrom(100, 1_000, 20_000),
    taken: fc.nat(5),
    isReversed: fc.boolean(),
    hit: fc.option(fc.tuple(fc.nat(7), fc.constantFrom('fails', 'is deleted', 'vanishes')), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 10 },
)

describe('plans for groups, carried out one after the other', () => {
  it('never keep a part of a group, never have two leaders in one, and end with what is wanted', () => {
    fc.assert(
      fc.property(story, fc.integer({ min: 2, max: 7 }), (chapters, nodes) => {
        const cluster = new TinyCluster(nodes)
        let model = modelWith(0, [])
        const step = (ms: number, taken: number, isReversed = false) => {
          const plan = planPods(model, cluster.pods, cluster.facts)
          cluster.apply(plan)
          check(cluster, plan)
          // Others are faster than the scheduler.
          cluster.taken = taken
          cluster.tick(ms, isReversed)
        }
        for (const { replicas, spec, steps, ms, taken, isReversed, hit } of chapters) {
          model = modelWith(replicas, [spec])
          if (hit) cluster.hit(...hit)
          for (let count = 0; count < steps; count++) step(ms, count === 0 ? 0 : taken, isReversed)
        }
        for (let round = 0; round < 60; round++) step(20_000, 0)

        const plan = planPods(model, cluster.pods, cluster.facts)
        expect([plan.create, plan.drain, plan.recall, plan.delete, plan.lift].flat()).toEqual([])
        const desired = model.spec.replicas ?? 0
        expect(groupsOf(cluster.pods)).toHaveLength(desired)
        const serving = groupsOf(cluster.pods).filter((group) => group.every(isPodReady))
        expect(serving).toHaveLength(Math.min(desired, Math.floor(nodes / size)))
        const hashes = new Set(cluster.pods.map(({ metadata }) => metadata.labels?.[modelHashLabel]))
        expect(hashes.size).toBe(Math.min(1, desired))
        expect(plan.status.replicas).toBe(desired)
      }),
      { numRuns: 60 },
    )
  })
})
