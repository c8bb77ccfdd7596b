import { describe, expect, it } from 'vitest'
import { type ContainerMemory, type MemoryState, freshMemory } from '../containers/container-memory.ts'
import { planPod } from './pod-plan.ts'

const now = 1000
const waiting: MemoryState = { type: 'waiting', reason: 'ContainerCreating' }
const running = { type: 'running', running: {} } as unknown as MemoryState
const exited = (exitCode: number): MemoryState => ({
  type: 'exited',
  exit: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', finishedAt: 0 },
  startedAt: 0,
})

function container(name: string, state: MemoryState, extra: Partial<ContainerMemory> = {}): ContainerMemory {
  return { ...freshMemory({ name }, extra.init ?? false), state, ...extra }
}

const init = (name: string, state: MemoryState) => container(name, state, { init: true })

describe('planPod', () => {
  it.each([
    [
      'starts what never ran',
      'Always',
      [container('a', waiting), container('b', waiting)],
      { start: ['a', 'b'], phase: 'Pending' },
    ],
    ['leaves what runs alone', 'Always', [container('a', running)], { start: [], phase: 'Running' }],
    [
      'starts init containers first, one at a time',
      'Always',
      [init('i', waiting), init('j', waiting), container('a', waiting)],
      { start: ['i'], phase: 'Pending', initialized: false },
    ],
    [
      'goes on to the next init container',
      'Always',
      [init('i', exited(0)), init('j', waiting), container('a', waiting)],
      { start: ['j'], phase: 'Pending' },
    ],
    [
      'waits for a running init container',
      'Always',
      [init('i', running), container('a', waiting)],
      { start: [], phase: 'Pending' },
    ],
    [
      'starts the others after the last init container',
      'Always',
      [init('i', exited(0)), container('a', waiting)],
      { start: ['a'], initialized: true },
    ],
    [
      'starts a failed init container again',
      'OnFailure',
      [init('i', exited(1)), container('a', waiting)],
      { start: ['i'] },
    ],
    [
      'fails with its init container when nothing is restarted',
      'Never',
      [init('i', exited(1)), container('a', waiting)],
      { start: [], phase: 'Failed' },
    ],
    [
      'does not run init containers again while the others run',
      'Always',
      [init('i', waiting), container('a', running)],
      { start: [], phase: 'Running' },
    ],
    [
      'restarts what completed when it is to run always',
      'Always',
      [container('a', exited(0))],
      { start: ['a'], phase: 'Running' },
    ],
    [
      'restarts only failures on failure',
      'OnFailure',
      [container('a', exited(0)), container('b', exited(1))],
      { start: ['b'], phase: 'Running' },
    ],
    [
      'succeeds when all succeeded',
      'OnFailure',
      [container('a', exited(0)), container('b', exited(0))],
      { start: [], phase: 'Succeeded' },
    ],
    [
      'fails when one failed for good',
      'Never',
      [container('a', exited(0)), container('b', exited(9))],
      { start: [], phase: 'Failed' },
    ],
    [
      'goes on while one still runs',
      'Never',
      [container('a', running), container('b', exited(9))],
      { start: [], phase: 'Running' },
    ],
    [
      'waits for the backoff and says until when',
      'Always',
      [container('a', exited(1), { startAt: now + 10_000 })],
      { start: [], wakeAt: now + 10_000, phase: 'Running' },
    ],
    ['starts when the backoff is over', 'Always', [container('a', exited(1), { startAt: now })], { start: ['a'] }],
  ] as const)('%s', (_name, policy, containers, expected) => {
    expect(planPod(policy, containers, now)).toMatchObject(expected)
  })
})
