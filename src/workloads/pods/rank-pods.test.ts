import { expect, it } from 'vitest'
import { madeAt, pod } from '../workload-objects.fixture.ts'
import { rankForDeletion } from './rank-pods.ts'

const now = madeAt + 3_600_000
const ready = { ready: true, node: 'here' }
const cost = (value: string) => ({ 'controller.kubernetes.io/pod-deletion-cost': value })

it.each([
  ['one without a node', pod('a'), pod('b', { node: 'here' })],
  ['one that is pending', pod('a', { node: 'here' }), pod('b', { node: 'here', phase: 'Running' })],
  ['one that is not ready', pod('a', { node: 'here', phase: 'Running' }), pod('b', ready)],
  ['the cheaper one', pod('a', { ...ready, annotations: cost('-5') }), pod('b', ready)],
  ['the one that became ready later', pod('a', { ...ready, readyAt: now - 1000 }), pod('b', ready)],
  ['the one that was restarted more often', pod('a', { ...ready, restarts: 3 }), pod('b', ready)],
  [
    'the younger one',
    pod('a', { ...ready, readyAt: madeAt, createdAt: now - 1000 }),
    pod('b', { ...ready, readyAt: madeAt }),
  ],
])('%s goes first', (_what, first, second) => {
  const order = (pods: (typeof first)[]) => rankForDeletion(pods, pods, now).map(({ metadata }) => metadata.name)
  expect(order([first, second])).toEqual(['a', 'b'])
  expect(order([second, first])).toEqual(['a', 'b'])
})

it('one where many of its kind are goes first', () => {
  const pods = [pod('alone', { ...ready, node: 'there' }), pod('crowded', ready), pod('neighbour', ready)]
  expect(rankForDeletion(pods.slice(0, 2), pods, now)[0]?.metadata.name).toBe('crowded')
})
