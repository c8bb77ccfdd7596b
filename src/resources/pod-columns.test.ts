import { expect, it } from 'vitest'
import { type Pod, podKind, podSchema } from './pod.ts'

const now = Date.UTC(2030, 0, 1, 0, 10)

function shown(pod: { spec?: object; status?: object; metadata?: object }): unknown[] {
  const parsed: Pod = podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', ...pod.metadata },
    spec: { containers: [{ name: 'a' }, { name: 'b' }], ...pod.spec },
    status: pod.status,
  })
  return podKind.columns.slice(0, 3).map((column) => column.cell?.(parsed, now))
}

const container = (name: string, rest: object = {}) => ({
  name,
  ready: false,
  restartCount: 0,
  image: 'i',
  imageID: 'i',
  ...rest,
})
const running = (name: string, rest: object = {}) => container(name, { ready: true, state: { running: {} }, ...rest })

it.each([
  ['waits to be placed', { status: { phase: 'Pending' } }, ['0/2', 'Pending', '0']],
  ['runs', { status: { phase: 'Running', containerStatuses: [running('a'), running('b')] } }, ['2/2', 'Running', '0']],
  [
    'has a container that crashes, and did so 5 minutes ago',
    {
      status: {
        phase: 'Running',
        containerStatuses: [
          running('a'),
          container('b', {
            restartCount: 3,
            state: { waiting: { reason: 'CrashLoopBackOff' } },
            lastState: { terminated: { exitCode: 1, finishedAt: '2030-01-01T00:05:00Z' } },
          }),
        ],
      },
    },
    ['1/2', 'CrashLoopBackOff', '3 (5m ago)'],
  ],
  [
    'is being initialized',
    {
      spec: { initContainers: [{ name: 'i' }, { name: 'j' }] },
      status: {
        phase: 'Pending',
        initContainerStatuses: [container('i', { state: { terminated: { exitCode: 0 } } }), container('j')],
      },
    },
    ['0/2', 'Init:1/2', '0'],
  ],
  [
    'failed to be initialized',
    {
      spec: { initContainers: [{ name: 'i' }] },
      status: { phase: 'Pending', initContainerStatuses: [container('i', { state: { terminated: { exitCode: 3 } } })] },
    },
    ['0/2', 'Init:ExitCode:3', '0'],
  ],
  [
    'has a container beside the others',
    {
      spec: { initContainers: [{ name: 'i', restartPolicy: 'Always' }] },
      status: {
        phase: 'Running',
        initContainerStatuses: [running('i', { started: true, restartCount: 1 })],
        containerStatuses: [running('a'), running('b')],
      },
    },
    ['3/3', 'Running', '1'],
  ],
  [
    'was killed',
    {
      status: {
        phase: 'Failed',
        containerStatuses: [container('a', { state: { terminated: { exitCode: 137, signal: 9 } } })],
      },
    },
    ['0/2', 'Signal:9', '0'],
  ],
  [
    'is on its way out',
    {
      metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' },
      status: { phase: 'Running', containerStatuses: [running('a')] },
    },
    ['1/2', 'Terminating', '0'],
  ],
])('a Pod that %s', (_what, pod, cells) => {
  expect(shown(pod)).toEqual(cells)
})
