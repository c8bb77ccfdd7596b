import { beforeEach, describe, expect, it } from 'vitest'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { drainingAnnotation } from '../resources/model-labels.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { executePlan } from './execute-plan.ts'
import { factsWith, modelWith } from './plan-pods.fixture.ts'
import { type PodPlan, planPods } from './plan-pods.ts'

describe('a plan for Pods', () => {
  const model = modelWith()
  const nothing: PodPlan = { ...planPods(model, [], factsWith()), create: [], lift: [] }
  let client: EmbeddedClient
  let told: string[]

  beforeEach(async () => {
    const clock = new FakeClock()
    client = new EmbeddedClient(
      new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock }),
    )
    told = []
    await client.create(namespaceKind, { metadata: { name: 'sluice' } })
  })

  const created = () =>
    client.create(podKind, {
      metadata: { name: 'a', namespace: 'sluice' },
      spec: { containers: [{ name: 'a', image: 'i' }] },
    })

  const execute = (plan: Partial<PodPlan>) => {
    const events = { record: (_about: unknown, _type: unknown, reason: string) => void told.push(reason) }
    const signal = new AbortController().signal
    return executePlan({ ...nothing, ...plan }, model, { client, events, clock: new FakeClock() }, signal)
  }

  const renewed = async (): Promise<Pod> => {
    const before = await created()
    await client.delete(podKind, before.metadata)
    await created()
    return before
  }

  it.each(['drain', 'recall', 'delete'] as const)('leaves alone a Pod that has only the name (%s)', async (what) => {
    const before = await renewed()
    expect(await execute({ [what]: [before] })).toEqual({ created: [] })
    const now = await client.get(podKind, before.metadata)
    expect(now?.metadata.annotations?.[drainingAnnotation]).toBeUndefined()
    expect(now?.metadata.deletionTimestamp).toBeUndefined()
    expect(told).toEqual([])
  })

  it('leaves alone a group whose Pods have only the names', async () => {
    await expect(execute({ lift: [[await renewed()]] })).resolves.toEqual({ created: [] })
  })

  it('does not take another refusal for that', async () => {
    const pod = await created()
    const broken = { ...pod, spec: { ...pod.spec, schedulingGates: [{ name: 'new' }] } }
    await expect(execute({ lift: [[broken]] })).rejects.toThrow(/schedulingGates/)
  })
})
