import { expect, it } from 'vitest'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import type { Pod } from '../../resources/pod.ts'
import { StatusError } from '../../resources/status-error.ts'
import { controllerReference } from '../owned/adopt-objects.ts'
import { pod, replicaSet, template } from '../workload-objects.fixture.ts'
import { ExpectedPods } from './expected-pods.ts'

const owner = replicaSet('web', { replicas: 3 })
const { signal } = new AbortController()
const three = Array.from({ length: 3 }, () => ({ template: template() }))

/** A cluster that does what it is asked, or refuses everything for this reason. */
function expectedPods(refusal?: StatusError): ExpectedPods {
  let created = 0
  const answer = (value: unknown) => (refusal ? Promise.reject(refusal) : Promise.resolve(value))
  const client = { create: () => answer(pod(`web-${(created += 1)}`)), delete: () => answer(undefined) }
  return new ExpectedPods({
    client: client as unknown as ClusterClient,
    events: { record: () => {} },
    clock: new FakeClock(),
  })
}

function owned(name: string): Pod {
  const made = pod(name)
  return { ...made, metadata: { ...made.metadata, ownerReferences: [controllerReference(owner)] } }
}

it('waits for the cache to show every Pod that was created, and every one that was deleted', async () => {
  const pods = expectedPods()
  expect(await pods.create(owner, three, signal)).toBeUndefined()
  for (const name of ['web-1', 'web-2']) pods.podChanged({ type: 'added', object: owned(name) })
  expect(pods.allShown(owner)).toBe(false)
  pods.podChanged({ type: 'added', object: owned('web-3') })
  expect(pods.allShown(owner)).toBe(true)

  expect(await pods.delete(owner, [owned('web-1')], signal)).toBeUndefined()
  expect(pods.allShown(owner)).toBe(false)
  pods.podChanged({ type: 'deleted', object: owned('web-1') })
  expect(pods.allShown(owner)).toBe(true)
})

it('does not wait for what was refused, and says why it was', async () => {
  const refusal = new StatusError('Forbidden', 'exceeded quota')
  const pods = expectedPods(refusal)
  expect(await pods.create(owner, three, signal)).toBe(refusal)
  expect(pods.allShown(owner)).toBe(true)
  expect(await pods.delete(owner, [owned('web-1'), owned('web-2')], signal)).toBe(refusal)
  expect(pods.allShown(owner)).toBe(true)
})

it('does not wait for the deletion of a Pod that was gone already', async () => {
  const pods = expectedPods(new StatusError('NotFound', 'pods "web-1" not found'))
  expect(await pods.delete(owner, [owned('web-1')], signal)).toBeUndefined()
  expect(pods.allShown(owner)).toBe(true)
})

it('forgets an owner that is gone, so that its namesake begins anew', async () => {
  const pods = expectedPods()
  await pods.create(owner, three, signal)
  pods.ownerDeleted(owner)
  expect(pods.allShown(owner)).toBe(true)
})
