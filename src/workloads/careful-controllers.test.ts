import { expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { Expectations } from './owned/expectations.ts'
import { slowStart } from './owned/slow-start.ts'
import { templateHash } from './template-hash.ts'
import { pod } from './workload-objects.fixture.ts'
import { surplusFinishedPods } from './pods/finished-pods.ts'

it('what was done is waited for until the cache shows it, or five minutes', async () => {
  const clock = new FakeClock()
  const expectations = new Expectations(clock)
  expect(expectations.satisfied('a')).toBe(true)
  expectations.expectCreations('a', 2)
  expectations.expectDeletion('a', 'pod')
  expectations.creationObserved('a')
  expectations.deletionObserved('a', 'another')
  expect(expectations.satisfied('a')).toBe(false)
  expectations.creationObserved('a')
  expectations.deletionObserved('a', 'pod')
  expect(expectations.satisfied('a')).toBe(true)
  expectations.expectCreations('a', 1)
  await clock.advance(5 * 60_000)
  expect(expectations.satisfied('a')).toBe(true)
})

it('many of the same are begun slowly, and stop at the first failure', async () => {
  let running = 0
  let most = 0
  const act = async () => {
    running += 1
    most = Math.max(most, running)
    await Promise.resolve()
    running -= 1
  }
  expect(await slowStart(Array.from({ length: 10 }), act)).toEqual({ succeeded: 10, skipped: 0, failure: undefined })
  expect(most).toBe(4)
  let calls = 0
  const failure = new Error('full')
  const outcome = await slowStart(Array.from({ length: 100 }), async () => {
    calls += 1
    if (calls > 2) throw failure
  })
  expect(outcome).toEqual({ succeeded: 2, skipped: 97, failure })
  expect(await slowStart([], act)).toEqual({ succeeded: 0, skipped: 0, failure: undefined })
})

it('the hash of a template does not depend on the order of its fields, and is another one after a collision', () => {
  expect(templateHash({ a: 1, b: [{ c: 2, d: undefined }] })).toBe(templateHash({ b: [{ c: 2 }], a: 1 }))
  expect(templateHash({ a: 1 })).not.toBe(templateHash({ a: 2 }))
  expect(templateHash({ a: 1 }, 1)).not.toBe(templateHash({ a: 1 }))
})

it('of too many finished Pods the evicted go first, then the oldest', () => {
  const pods = [
    pod('young', { phase: 'Succeeded', createdAt: 3_000 }),
    pod('old', { phase: 'Failed', createdAt: 1_000 }),
    pod('evicted', { phase: 'Failed', createdAt: 9_000, reason: 'Evicted' }),
  ]
  const names = (limit: number) => surplusFinishedPods(pods, limit).map(({ metadata }) => metadata.name)
  expect(names(3)).toEqual([])
  expect(names(2)).toEqual(['evicted'])
  expect(names(1)).toEqual(['evicted', 'old'])
})
