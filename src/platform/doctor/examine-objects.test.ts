import { describe, expect, it } from 'vitest'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { ObjectExamination } from './examine-objects.ts'

const now = Date.UTC(2030, 0, 1)

function object(kind: string, name: string, fields: Record<string, unknown> = {}, meta: Record<string, unknown> = {}) {
  return { apiVersion: 'v1', kind, metadata: { name, namespace: 'team', uid: `uid-${name}`, ...meta }, ...fields }
}

function whatIsFound(objects: ReadonlyArray<readonly [resource: string, object: KubernetesObject]>): string[] {
  const examination = new ObjectExamination(now)
  for (const [resource, one] of objects) examination.look(resource, one)
  return examination.findings().map(({ what }) => what)
}

const ownedBy = (owner: string) => ({
  ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: owner, uid: `uid-${owner}` }],
})

describe('the examination of objects', () => {
  it('finds nothing unusual in an ordinary cluster', () => {
    const found = whatIsFound([
      ['pods', object('Pod', 'web', { status: { containerStatuses: [{ restartCount: 3 }] } }, ownedBy('set'))],
      ['replicasets.apps', object('ReplicaSet', 'set', {}, ownedBy('deployment'))],
      ['events', object('Event', 'one', { reason: 'Started', involvedObject: { kind: 'Pod', name: 'web' } })],
    ])
    expect(found).toEqual([])
  })

  it('names objects that own each other in a circle, once', () => {
    const found = whatIsFound([
      ['pods', object('Pod', 'a', {}, ownedBy('b'))],
      ['pods', object('Pod', 'b', {}, ownedBy('c'))],
      ['pods', object('Pod', 'c', {}, ownedBy('a'))],
      ['pods', object('Pod', 'd', {}, ownedBy('a'))],
    ])
    expect(found).toEqual(['Objects that own each other in a circle: pods team/a, pods team/b, pods team/c.'])
  })

  it('follows a chain of owners however long it is', () => {
    const chain = Array.from({ length: 50_000 }, (_, index) => object('Pod', `p${index}`, {}, ownedBy(`p${index + 1}`)))
    expect(whatIsFound(chain.map((pod) => ['pods', pod] as const))).toEqual([])
  })

  it('says what most Events are about when there are too many', () => {
    const about = { kind: 'Pod', namespace: 'team', name: 'redis' }
    const events = Array.from({ length: 10_001 }, (_, index) =>
      object('Event', `e${index}`, { reason: 'FailedCreatePodSandBox', involvedObject: about }),
    )
    expect(whatIsFound(events.map((event) => ['events', event] as const))).toEqual([
      '10001 Events, most of them FailedCreatePodSandBox of Pod team/redis (10001).',
    ])
  })

  it('names containers that keep ending, and objects that do not go', () => {
    const status = { containerStatuses: [{ restartCount: 90, state: { waiting: { reason: 'CrashLoopBackOff' } } }] }
    const leaving = { deletionTimestamp: new Date(now - 7_200_000).toISOString(), finalizers: ['example.com/hold'] }
    expect(whatIsFound([['pods', object('Pod', 'web', { status }, leaving)]])).toEqual([
      'Containers that keep ending: pods team/web (90 restarts, CrashLoopBackOff).',
      'Objects that have been going for more than an hour: pods team/web (example.com/hold).',
    ])
  })

  it('goes on past what cannot be read', () => {
    const broken = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'odd', uid: 7 } } as unknown as KubernetesObject
    const found = whatIsFound([
      ['pods', broken],
      ['pods', object('Pod', 'web', { status: 'none' })],
      ['events', object('Event', 'one', { reason: 7 })],
    ])
    expect(found).toEqual(['Objects whose metadata cannot be read: pods odd.'])
  })
})
