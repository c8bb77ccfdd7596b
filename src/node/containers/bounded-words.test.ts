import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { podSchema } from '../../resources/pod.ts'
import { type ContainerMemory, freshMemory } from './container-memory.ts'
import { firstBytes, lastBytes } from './cut-text.ts'
import { OutputStart } from './output-start.ts'
import { podStatus } from '../pods/pod-status.ts'
import { unsupportedPart } from '../pods/unsupported-pod.ts'

const podOf = (spec: Record<string, unknown>) =>
  podSchema.parse({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'default', uid: 'u' }, spec })

describe('a probe that never stops talking', () => {
  it('is kept from it as soon as nobody listens any more', async () => {
    const clock = new FakeClock()
    const output = new OutputStart(clock)
    const piece = Buffer.alloc(64 * 2 ** 10, 'y')
    let taken = 0
    for (let count = 0; count < 20; count += 1) output.write(piece, () => (taken += 1))
    await clock.advance(0)
    expect(taken).toBe(1)
    await clock.advance(100)
    expect(taken).toBeLessThanOrEqual(12)
    expect(output.text).toHaveLength(10 * 2 ** 10)
    output.destroy()
  })
})

describe('the last words of many containers', () => {
  it('are 12 KiB in all', () => {
    const pod = podOf({ containers: Array.from({ length: 6 }, (_, index) => ({ name: `c${index}` })) })
    const memories = pod.spec.containers.map((spec): ContainerMemory => {
      const exit = { exitCode: 1, reason: 'Error' as const, message: 'm'.repeat(4096), finishedAt: 0 }
      return { ...freshMemory(spec, false), state: { type: 'exited', exit, startedAt: 0 } }
    })
    const status = podStatus(pod, { phase: 'Failed', initialized: true }, memories, { hostIP: '127.0.0.1' }, 0)
    const lengths = status.containerStatuses?.map(({ state }) => state?.terminated?.message?.length)
    expect(lengths).toEqual(Array.from({ length: 6 }, () => 2048))
  })

  it.each([
    ['abc', 3, 'abc', 'abc'],
    ['abcd', 3, 'abc', 'bcd'],
    ['äöü', 4, 'äö', 'öü'],
    ['äöü', 3, 'ä', 'ü'],
    ['x🙂', 3, 'x', ''],
    ['🙂x', 3, '', 'x'],
  ])('are cut between characters: %j to %i bytes', (text, count, first, last) => {
    expect(firstBytes(text, count)).toBe(first)
    expect(lastBytes(text, count)).toBe(last)
  })
})

describe('a Pod of a thousand parts', () => {
  it('is refused with the number that this node takes', () => {
    const volumes = Array.from({ length: 1000 }, (_, index) => ({ name: `v${index}`, emptyDir: {} }))
    expect(unsupportedPart(podOf({ containers: [{ name: 'main' }], volumes }))).toBe(
      'It has 1000 volumes; this node takes at most 500.',
    )
    const env = Array.from({ length: 10_001 }, (_, index) => ({ name: `V${index}`, value: '' }))
    expect(unsupportedPart(podOf({ containers: [{ name: 'main', env }] }))).toContain('10001 env')
  })
})
