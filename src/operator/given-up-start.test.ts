import { describe, expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { PassingFacts } from './looks/passing-facts.ts'
import { type Case, factsWith, modelWith, plannedIn, podNamed, wantedIn } from './plan-pods.fixture.ts'
import { planPods } from './plan-pods.ts'

const ended = (exitCode: number) => ({ exitCode, message: 'starting\nthere is no option --warp' })
const restarting = (exitCode: number) => ({
  state: { waiting: { reason: 'CrashLoopBackOff' } },
  lastState: { terminated: ended(exitCode) },
})
const refusal = /refuses to start: exit code 2: there is no option --warp\. Change the Model/

describe('an engine that cannot use what it is told', () => {
  it.each<Case>([
    {
      name: 'gives its card back at once, and is not started again',
      pods: [podNamed('a', { container: { state: { terminated: ended(2) } } })],
      delete: ['a'],
      phase: 'Failed',
      message: refusal,
    },
    {
      name: 'does so too when its node is about to start it again',
      pods: [podNamed('a', { container: restarting(2) })],
      delete: ['a'],
      phase: 'Failed',
      message: refusal,
    },
    {
      name: 'is started again if it ended otherwise',
      pods: [podNamed('a', { container: restarting(1) })],
      phase: 'Waking',
    },
    {
      name: 'leaves what serves already alone',
      pods: [podNamed('old', { hash: 'old', ready: true }), podNamed('a', { container: restarting(2) })],
      delete: ['a'],
      phase: 'Ready',
    },
    {
      name: 'of an older spec is forgotten',
      pods: [podNamed('a', { hash: 'old', container: restarting(2) })],
      delete: ['a'],
      create: 1,
      phase: 'Waking',
    },
  ])('$name', (row) => {
    const wanted = { spec: { replicas: 1 }, ...row }
    expect(plannedIn(wanted)).toEqual(wantedIn(wanted))
  })

  it('is remembered when its Pod is gone, as long as the Model would start the same', () => {
    const pods = [podNamed('a', { container: restarting(2) })]
    const { givenUp } = planPods(modelWith({ replicas: 1 }), pods, factsWith())
    const facts = factsWith({ givenUp })
    for (const replicas of [0, 1]) {
      const { create, status } = planPods(modelWith({ replicas }), [], facts)
      expect([create, status.phase]).toEqual([[], 'Failed'])
      expect(status.message).toMatch(refusal)
    }
    expect(planPods(modelWith({ replicas: 1, args: ['--threads=1'] }), [], facts).create).toHaveLength(1)
  })
})

describe('what is known for a while', () => {
  it('is forgotten in time, however often it is noted', async () => {
    const clock = new FakeClock()
    const facts = new PassingFacts<{ why: string }>(clock, 1_000)
    facts.note('a', { why: 'x' })
    await clock.advance(600)
    facts.note('a', { why: 'x' })
    expect([facts.get('a'), facts.leftMs('a')]).toEqual([{ why: 'x' }, 400])
    facts.note('a', { why: 'y' })
    expect(facts.leftMs('a')).toBe(1_000)
    await clock.advance(1_000)
    expect([facts.get('a'), facts.leftMs('a')]).toEqual([undefined, undefined])
  })
})
