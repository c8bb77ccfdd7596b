import { expect, it } from 'vitest'
import { onEachServer } from './on-each-server.ts'

// What a kubelet reports about Pods with several containers, init containers and probes, and how a user then sees them.
const running = { running: { startedAt: '2030-01-01T00:00:00Z' } }
const ended = (exitCode: number, reason: string) => ({
  terminated: { exitCode, reason, startedAt: '2030-01-01T00:00:00Z', finishedAt: '2030-01-01T00:00:01Z' },
})
const initOnly = 'may not be set for init containers without restartPolicy=Always'
const waiting = (reason: string) => ({ waiting: { reason } })

const status = (name: string, state: object, more: object = {}) => ({
  name,
  state,
  ready: false,
  restartCount: 0,
  image: 'i',
  imageID: 'i',
  ...more,
})
const ready = { ready: true, started: true }
const notReady = [{ type: 'Initialized', status: 'True' as const }]
const uninitialized = [{ type: 'Initialized', status: 'False' as const, reason: 'ContainersNotInitialized' }]
const isReady = [...notReady, { type: 'Ready', status: 'True' as const }]

interface Life {
  readonly name: string
  readonly sidecar?: boolean
  readonly status: object
  /** The columns READY, STATUS and RESTARTS. */
  readonly seen: readonly unknown[]
}

const lives: readonly Life[] = [
  {
    name: 'first-init',
    status: {
      phase: 'Pending',
      conditions: uninitialized,
      initContainerStatuses: [status('a', running), status('b', waiting('PodInitializing'))],
      containerStatuses: [status('main', waiting('PodInitializing')), status('side', waiting('PodInitializing'))],
    },
    seen: ['0/2', 'Init:0/2', '0'],
  },
  {
    name: 'second-init-failed',
    status: {
      phase: 'Pending',
      conditions: uninitialized,
      initContainerStatuses: [
        status('a', ended(0, 'Completed'), { ready: true }),
        status('b', ended(1, 'Error'), { restartCount: 2 }),
      ],
      containerStatuses: [status('main', waiting('PodInitializing')), status('side', waiting('PodInitializing'))],
    },
    seen: ['0/2', 'Init:Error', '2'],
  },
  {
    name: 'init-crash-loop',
    status: {
      phase: 'Pending',
      conditions: uninitialized,
      initContainerStatuses: [
        status('a', waiting('CrashLoopBackOff'), { restartCount: 4 }),
        status('b', waiting('PodInitializing')),
      ],
      containerStatuses: [status('main', waiting('PodInitializing')), status('side', waiting('PodInitializing'))],
    },
    seen: ['0/2', 'Init:CrashLoopBackOff', '4'],
  },
  {
    name: 'one-of-two-ready',
    status: {
      phase: 'Running',
      conditions: notReady,
      containerStatuses: [status('main', running, ready), status('side', running, { started: false })],
    },
    seen: ['1/2', 'Running', '0'],
  },
  {
    name: 'all-ready',
    status: {
      phase: 'Running',
      conditions: isReady,
      containerStatuses: [status('main', running, ready), status('side', running, ready)],
    },
    seen: ['2/2', 'Running', '0'],
  },
  {
    name: 'one-crashes',
    status: {
      phase: 'Running',
      conditions: notReady,
      containerStatuses: [
        status('main', running, ready),
        status('side', waiting('CrashLoopBackOff'), { restartCount: 3, lastState: ended(2, 'Error') }),
      ],
    },
    seen: ['1/2', 'CrashLoopBackOff', expect.stringMatching(/^3/)],
  },
  {
    name: 'image-refused',
    status: {
      phase: 'Pending',
      conditions: notReady,
      containerStatuses: [status('main', waiting('ErrImagePull')), status('side', waiting('ContainerCreating'))],
    },
    seen: ['0/2', 'ErrImagePull', '0'],
  },
  {
    name: 'out-of-memory',
    status: {
      phase: 'Failed',
      conditions: notReady,
      containerStatuses: [status('main', ended(137, 'OOMKilled')), status('side', ended(0, 'Completed'))],
    },
    seen: ['0/2', 'OOMKilled', '0'],
  },
  {
    name: 'succeeded',
    status: {
      phase: 'Succeeded',
      conditions: notReady,
      containerStatuses: [status('main', ended(0, 'Completed')), status('side', ended(0, 'Completed'))],
    },
    seen: ['0/2', 'Completed', '0'],
  },
  {
    name: 'beside-a-sidecar',
    sidecar: true,
    status: {
      phase: 'Running',
      conditions: isReady,
      initContainerStatuses: [status('a', running, ready), status('b', ended(0, 'Completed'), { ready: true })],
      containerStatuses: [status('main', running, ready), status('side', running, ready)],
    },
    seen: ['3/3', 'Running', '0'],
  },
]

onEachServer((server) => {
  const spec = (sidecar = false) => ({
    initContainers: [
      { name: 'a', image: server.image, ...(sidecar && { restartPolicy: 'Always' }) },
      { name: 'b', image: server.image },
    ],
    containers: ['main', 'side'].map((name) => ({
      name,
      image: server.image,
      ports: [{ name: `port-${name}`, containerPort: 80 }],
      startupProbe: { tcpSocket: { port: `port-${name}` }, failureThreshold: 60, periodSeconds: 1 },
      readinessProbe: { httpGet: { path: '/ready', port: 80 } },
      livenessProbe: { exec: { command: ['true'] }, terminationGracePeriodSeconds: 3 },
    })),
    automountServiceAccountToken: false,
  })
  const table = { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } }

  it.each(lives)('shows a Pod that is $name as $seen', async ({ name, sidecar, status: reported, seen }) => {
    const path = server.path('pods')
    await server.http('POST', path, { metadata: { name }, spec: spec(sidecar) })
    const merge = { headers: { 'content-type': 'application/merge-patch+json' } }
    const { code } = await server.http('PATCH', `${path}/${name}/status`, { status: reported }, merge)
    expect(code).toBe(200)
    const { body } = await server.http('GET', `${path}/${name}`, undefined, table)
    const [row] = (body as unknown as { rows: { cells: unknown[] }[] }).rows
    expect(row?.cells.slice(1, 4)).toEqual(seen)
  })

  it('completes probes with the defaults of Kubernetes', async () => {
    const { body } = await server.http('POST', server.path('pods'), { metadata: { name: 'probed' }, spec: spec() })
    const { containers } = body['spec'] as { containers: object[] }
    const defaults = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }
    expect(containers[0]).toMatchObject({
      startupProbe: { ...defaults, tcpSocket: { port: 'port-main' }, failureThreshold: 60, periodSeconds: 1 },
      readinessProbe: { ...defaults, httpGet: { path: '/ready', port: 80, scheme: 'HTTP' } },
      livenessProbe: { ...defaults, exec: { command: ['true'] }, terminationGracePeriodSeconds: 3 },
    })
  })

  it.each([
    [
      { initContainers: [{ startupProbe: { exec: { command: ['x'] } } }] },
      `spec.initContainers[0].startupProbe: Forbidden: ${initOnly}`,
    ],
    [
      { initContainers: [{ lifecycle: { preStop: { exec: { command: ['x'] } } } }] },
      `spec.initContainers[0].lifecycle: Forbidden: ${initOnly}`,
    ],
    [{ initContainers: [{ restartPolicy: 'Always', startupProbe: { exec: { command: ['x'] } } }] }, 'accepted'],
    [{ containers: [{}, {}] }, 'spec.containers[1].name: Duplicate value: "main"'],
    [{ containers: [{ readinessProbe: { httpGet: { port: 'nobody' } } }] }, 'accepted'],
    [
      { containers: [{ readinessProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 1 } }] },
      'spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not be set for readinessProbes',
    ],
    [
      { containers: [{ livenessProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 0 } }] },
      'spec.containers[0].livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0',
    ],
  ])('judges %j', async (given, expected) => {
    const named = (list: object[] = [], name: string) => list.map((each) => ({ name, image: server.image, ...each }))
    const { containers = [{}], initContainers } = given as { containers?: object[]; initContainers?: object[] }
    const podSpec = { containers: named(containers, 'main'), initContainers: named(initContainers, 'init') }
    const { code, body } = await server.http('POST', server.path('pods'), {
      metadata: { name: 'judged' },
      spec: podSpec,
    })
    const problem = body['message']?.replace('Pod "judged" is invalid: ', '')
    expect(code === 201 ? 'accepted' : problem).toBe(expected)
  })
})
