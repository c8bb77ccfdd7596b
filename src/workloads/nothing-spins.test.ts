import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { configMapKind } from '../resources/config-map.ts'
import { deploymentKind } from '../resources/deployment.ts'
import { eventKind } from '../resources/event.ts'
import { jobKind } from '../resources/job.ts'
import { timestamp } from '../resources/kubernetes-object.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { nodeKind } from '../resources/node.ts'
import { podKind } from '../resources/pod.ts'
import { replicaSetKind } from '../resources/replica-set.ts'
import { statefulSetKind } from '../resources/stateful-set.ts'
import { StatusError } from '../resources/status-error.ts'
import { namespace, startStorm } from './storm-stage.fixture.ts'
import { template } from './workload-objects.fixture.ts'

const tenMinutes = 10 * 60_000
const selector = { matchLabels: { app: 'web' } }

let stage: Awaited<ReturnType<typeof startStorm>>
beforeEach(async () => {
  stage = await startStorm()
})
afterEach(() => stage.stop())

const metadata = { name: 'web', namespace }
const events = async () => (await stage.hands.list(eventKind, { namespace })).items.length
const pods = async () => (await stage.hands.list(podKind, { namespace })).items.length

describe('Pods that are refused for ever, each time with another message,', () => {
  beforeEach(() => {
    let count = 0
    stage.client.refuse = (verb, kind) =>
      verb === 'create' && kind === podKind
        ? new StatusError('Forbidden', `exceeded quota: requested ${(count += 1)}`)
        : undefined
  })

  /** In ten minutes: 5 ms, doubled up to a minute, make two dozen attempts. */
  const happened = async () => {
    await stage.clock.advance(tenMinutes)
    const tries = stage.client.count('create', 'Pod')
    return { tries: tries > 15 && tries < 40, writes: stage.client.writes < 100, events: (await events()) < 20 }
  }
  const bounded = { tries: true, writes: true, events: true }

  it('are tried a few times by a Deployment', async () => {
    await stage.hands.create(deploymentKind, { metadata, spec: { replicas: 100, selector, template: template() } })
    expect(await happened()).toEqual(bounded)
    const [set] = (await stage.hands.list(replicaSetKind, { namespace })).items
    expect(set?.status?.conditions).toMatchObject([{ type: 'ReplicaFailure', reason: 'FailedCreate' }])
  })

  it('are tried a few times by a StatefulSet', async () => {
    const spec = { replicas: 3, selector, serviceName: 'web', template: template() }
    await stage.hands.create(statefulSetKind, { metadata, spec })
    expect(await happened()).toEqual(bounded)
  })

  it('are tried a few times by a Job', async () => {
    const { spec } = template()
    await stage.hands.create(jobKind, { metadata, spec: { template: { spec: { ...spec, restartPolicy: 'Never' } } } })
    expect(await happened()).toEqual(bounded)
  })
})

describe('Pods that fail as soon as they are made', () => {
  it('are replaced by a Deployment ever later, not as fast as they fail', async () => {
    await stage.hands.create(deploymentKind, { metadata, spec: { replicas: 2, selector, template: template() } })
    await stage.failPods(tenMinutes, 1_000)
    // For each replica: at once, then after 1 s, 2 s, 4 s and so on.
    expect(stage.client.count('create', 'Pod')).toBeGreaterThan(10)
    expect(stage.client.count('create', 'Pod')).toBeLessThanOrEqual(24)
    expect(await pods()).toBeLessThanOrEqual(24)
    expect(stage.client.writes).toBeLessThan(300)
  })

  it('are replaced by a StatefulSet ever later', async () => {
    const spec = { replicas: 1, selector, serviceName: 'web', template: template() }
    await stage.hands.create(statefulSetKind, { metadata, spec })
    await stage.failPods(tenMinutes, 1_000)
    expect(stage.client.count('create', 'Pod')).toBeGreaterThan(5)
    expect(stage.client.count('create', 'Pod')).toBeLessThanOrEqual(20)
    expect(stage.client.writes).toBeLessThan(150)
  })

  it('are all replaced at once when they fail once, as after an eviction', async () => {
    await stage.hands.create(deploymentKind, { metadata, spec: { replicas: 20, selector, template: template() } })
    await stage.failPods(1_000, 1_000)
    for (let turn = 0; turn < 20; turn += 1) await stage.clock.advance(1)
    expect(await pods()).toBe(40)
  })

  it('are tried by a Job as often as it says, 10 s apart at first', async () => {
    const { spec } = template()
    await stage.hands.create(jobKind, {
      metadata,
      spec: { backoffLimit: 1_000, template: { spec: { ...spec, restartPolicy: 'Never' } } },
    })
    await stage.failPods(tenMinutes, 1_000)
    expect(stage.client.count('create', 'Pod')).toBeLessThanOrEqual(8)
    expect(stage.client.writes).toBeLessThan(100)
  })
})

describe('what cannot come to an end', () => {
  it('a namespace that somebody holds on to is looked at ever less often', async () => {
    await stage.hands.create(namespaceKind, { metadata: { name: 'stuck' } })
    const finalizers = ['example.com/never']
    await stage.hands.create(configMapKind, { metadata: { name: 'held', namespace: 'stuck', finalizers } })
    await stage.hands.delete(namespaceKind, { name: 'stuck' })
    await stage.clock.advance(tenMinutes)
    expect(stage.client.count('list', 'ConfigMap')).toBeLessThan(60)
    expect(stage.client.count('delete')).toBeLessThan(30)
    await stage.hands.patch(configMapKind, { namespace: 'stuck', name: 'held' }, { metadata: { finalizers: null } })
    await stage.clock.advance(16_000)
    expect(await stage.hands.get(namespaceKind, { name: 'stuck' })).toBeUndefined()
  })

  it('Pods without a place are told so once, however often their node says that it is alive', async () => {
    const allocatable = { cpu: '1', memory: '1Gi', pods: '0' }
    const node = await stage.hands.create(nodeKind, { metadata: { name: 'full' }, status: { allocatable } })
    for (let index = 0; index < 200; index += 1) {
      const name = `waits-${index}`
      await stage.hands.create(podKind, { metadata: { name, namespace }, spec: template().spec })
    }
    await stage.clock.advance(1_000)
    for (let second = 0; second < 60; second += 1) {
      const conditions = [{ type: 'Ready', status: 'True' as const, lastHeartbeatTime: timestamp(stage.clock.now()) }]
      const latest = await stage.hands.get(nodeKind, { name: 'full' })
      await stage.hands.updateStatus(nodeKind, { ...(latest ?? node), status: { allocatable, conditions } })
      await stage.clock.advance(10_000)
    }
    expect(stage.client.count('updateStatus', 'Pod')).toBeLessThanOrEqual(400)
  })

  it('two who write the same field against each other are slowed down', async () => {
    await stage.hands.create(deploymentKind, { metadata, spec: { replicas: 0, selector, template: template() } })
    await stage.clock.advance(1_000)
    // Somebody else wants another size of the ReplicaSet, and acts fifty times a second.
    for (let times = 0; times < 60 * 50; times += 1) {
      const [set] = (await stage.hands.list(replicaSetKind, { namespace })).items
      if (set && set.spec.replicas !== 3)
        await stage.hands.scale(replicaSetKind, { namespace, name: set.metadata.name }, 3)
      await stage.clock.advance(20)
    }
    expect(stage.client.count('patch', 'ReplicaSet')).toBeGreaterThan(20)
    expect(stage.client.count('patch', 'ReplicaSet')).toBeLessThan(500)
    expect(await events()).toBeLessThan(120)
  })
})
