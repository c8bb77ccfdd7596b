import { describe, expect, it } from 'vitest'
import { figuresOf } from '../../platform/models/running/model-figures.ts'
import { runningModels } from '../../platform/models/running/running-models.ts'
import { modelKind } from '../../resources/model.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { renderList } from '../output/print-output.ts'
import { attentionIn, healthLines } from './cluster-health.ts'
import { LinePrefixer } from './line-prefixer.ts'
import { modelSentence } from './model-sentence.ts'
import { runningListing } from './ps.ts'
import type { PodMetrics } from '../../resources/resource-metrics.ts'
import { busyListing, busyModels } from './top.ts'

const now = Date.parse('2030-01-01T00:10:00Z')
const metrics = `# HELP sluice_traffic_active_requests Requests.
sluice_traffic_active_requests{model="demo"} 2
sluice_traffic_waiting_requests{model="demo"} 1
sluice_gateway_requests_total{route="chat/completions",model="demo",status="200"} 40
sluice_gateway_requests_total{route="embeddings",model="demo",status="200"} 2
sluice_gateway_requests_total{route="models",model="",status="200"} 9
sluice_gateway_tokens_total{model="demo",kind="prompt"} 1000
sluice_gateway_tokens_total{model="demo",kind="completion"} 500
sluice_autoscaler_sleeps_at_seconds{model="demo"} ${now / 1000 + 300}
`

const model = (name: string, status: object) =>
  modelKind.schema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name, namespace: 'sluice', uid: `uid-${name}` },
    spec: { url: 'pvc://userdata/m', engine: 'LlamaCpp' },
    status,
  })
const podOf = (name: string, more: Record<string, unknown> = {}): Pod =>
  podKind.schema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-1`,
      namespace: 'sluice',
      ownerReferences: [{ apiVersion: 'sluice.dev/v1', kind: 'Model', name, uid: `uid-${name}`, controller: true }],
    },
    spec: { containers: [{ name: 'engine', resources: { limits: { cpu: '2', 'nvidia.com/gpu-l40s': '2' } } }] },
    status: { phase: 'Running', startTime: '2030-01-01T00:00:00Z', ...more },
  })

const models = [
  model('demo', { phase: 'Ready', replicas: 1, readyReplicas: 1 }),
  model('idle', { phase: 'Asleep', replicas: 0 }),
  model('broken', { phase: 'Failed', replicas: 0, message: 'There is no file.' }),
]

describe('sluice ps', () => {
  const running = runningModels(models, [podOf('demo')], figuresOf(metrics))

  it('shows what runs, with its cards and times', async () => {
    expect((await renderList(running, runningListing(now), undefined)).text.split('\n')).toEqual([
      'NAME     STATE    REPLICAS   CARDS                     SINCE     IDLE UNTIL',
      'demo     Ready    1/1        2 × nvidia.com/gpu-l40s   10m ago   in 5m',
      'broken   Failed   0/0',
      '',
    ])
  })

  it('gives programs this shape', () => {
    expect(running[0]).toMatchInlineSnapshot(`
      {
        "activeRequests": 2,
        "cards": {
          "nvidia.com/gpu-l40s": 2,
        },
        "idleUntil": "2030-01-01T00:15:00Z",
        "loading": undefined,
        "message": undefined,
        "name": "demo",
        "phase": "Ready",
        "pods": [
          "demo-1",
        ],
        "readyReplicas": 1,
        "replicas": 1,
        "since": "2030-01-01T00:00:00Z",
        "waitingRequests": 1,
      }
    `)
  })

  it('says what to do where nothing runs', async () => {
    expect((await renderList([], runningListing(now), undefined)).hint).toContain('sluice wake MODEL')
  })
})

function metricsOf({ name, cpu, memory }: { name: string; cpu: string; memory: string }): PodMetrics {
  const times = { timestamp: '2030-01-01T00:00:00Z', window: '10s' }
  const containers = [{ name: 'engine', usage: { cpu, memory } }]
  return { apiVersion: 'metrics.k8s.io/v1beta1', kind: 'PodMetrics', metadata: { name }, ...times, containers }
}

describe('sluice top', () => {
  it('shows rates of what grew, and none below zero after a restart of the gateway', async () => {
    const figures = figuresOf(metrics)
    const before = new Map([['demo', { ...figures.get('demo'), requests: 22, tokens: 900 }]]) as typeof figures
    const running = runningModels(models, [podOf('demo')], figures)
    const measured = [
      { name: 'demo-1', cpu: '250m', memory: '3Mi' },
      { name: 'other', cpu: '9', memory: '9Gi' },
    ].map(metricsOf)
    const busy = busyModels(running, { before, now: figures, seconds: 10, measured })
    expect(busy[0]).toEqual({
      name: 'demo',
      phase: 'Ready',
      activeRequests: 2,
      waitingRequests: 1,
      requestsPerSecond: 2,
      tokensPerSecond: 0,
      cores: 0.25,
      memoryBytes: 3 * 2 ** 20,
      cards: { 'nvidia.com/gpu-l40s': 2 },
    })
    const line = / demo +Ready +2 +1 +2\.0 +0\.0 +250m +3Mi /
    expect(` ${(await renderList(busy, busyListing, undefined)).text}`.replaceAll('\n', ' ')).toMatch(line)
  })

  it('shows what is known where no gateway can be asked, and nobody measures', async () => {
    const running = runningModels(models, [podOf('demo')], new Map())
    const busy = busyModels(running, { before: undefined, now: undefined, seconds: 10, measured: [] })
    const [first] = busy.filter(({ name }) => name === 'demo')
    expect(first).toEqual({ name: 'demo', phase: 'Ready', cards: { 'nvidia.com/gpu-l40s': 2 } })
    expect((await renderList(busy, busyListing, undefined)).text).toMatch(/demo +Ready +- +- +- +- +- +- +2/)
  })
})

describe('sluice status', () => {
  it('names what needs attention', () => {
    const engine = { name: 'engine', ready: true, restartCount: 5, image: 'i', imageID: 'i' }
    const restarted = podOf('demo', { containerStatuses: [engine] })
    expect(attentionIn({ models, pods: [restarted], nodes: [] })).toEqual([
      'There is no node, so that nothing can run.',
      'The model broken cannot start: There is no file.',
      'The Pod demo-1 was restarted 5 times: `sluice logs demo-1 --previous` shows its end.',
    ])
  })

  it('says it in lines', () => {
    const lines = healthLines({
      running: true,
      cluster: 'vks1',
      pid: 7,
      addresses: { 'Chat page': 'http://127.0.0.1:8000/' },
      health: { gateway: 'ok', management: 'it answered 503' },
      nodes: { ready: 1, all: 1 },
      models: { awake: 1, all: 3 },
      attention: ['The model broken cannot start.'],
    })
    expect(lines).toEqual([
      'Sluice     running, needs attention (process 7)',
      'Cluster    vks1',
      'Chat page  http://127.0.0.1:8000/',
      'Nodes      1 of 1 ready',
      'Models     1 of 3 awake',
      '',
      'Needs attention:',
      '- management: it answered 503',
      '- The model broken cannot start.',
    ])
  })
})

describe('a sentence about a model', () => {
  it.each([
    [undefined, 'Asleep.'],
    [{ phase: 'Ready' }, 'Awake.'],
    [{ phase: 'Waking' }, 'Waking: its program starts.'],
    [
      { phase: 'Waking', loading: { phase: 'Loading', percent: 3, stalled: true } },
      'Waking: loading it into memory, 3 %, but nothing has moved for a while.',
    ],
    [{ phase: 'Failed', message: 'There is no file.' }, 'There is no file.'],
  ] as const)('%j', (state, sentence) => {
    expect(modelSentence(state)).toBe(sentence)
  })
})

describe('lines of several Pods', () => {
  it('come whole, each with its Pod', () => {
    let written = ''
    const lines = new LinePrefixer('[a] ', (text) => (written += text))
    for (const part of ['one\ntw', 'o\n', '\nlast']) lines.write(new TextEncoder().encode(part))
    lines.end()
    expect(written).toBe('[a] one\n[a] two\n[a] \n[a] last\n')
  })

  it('may be endless without filling the memory', () => {
    let written = 0
    const lines = new LinePrefixer('', (text) => (written += text.length))
    for (let part = 0; part < 20; part++) lines.write(Buffer.alloc(10_000, 'x'))
    expect(written).toBeGreaterThan(100_000)
  })
})
