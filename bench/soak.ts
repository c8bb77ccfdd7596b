// A day's use in an hour: chats with an awake model, wakes of a sleeping one, kubectl-like reads and writes, Pods and Jobs that
// come and go. Prints memory and file sizes as they go, and how the last quarter compares with the second one: a ratio of 1 is flat.
//   node bench/soak.ts [--minutes 60]
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type KubernetesClient, connectKubernetes } from '../src/cluster/kubernetes-client.ts'
import { tinyPlainTemplate, writeTinyModel } from '../src/engine/tiny-model.ts'
import { configMapKind } from '../src/resources/config-map.ts'
import { deploymentKind } from '../src/resources/deployment.ts'
import { eventKind } from '../src/resources/event.ts'
import { jobKind } from '../src/resources/job.ts'
import { modelKind } from '../src/resources/model.ts'
import { podKind } from '../src/resources/pod.ts'
import { SluiceProcess, killIfThere, podProcesses, processesMentioning } from '../tests/support/sluice-process.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' } } })
const durationMs = Number(values.minutes) * 60_000
const image = 'registry.local-1.localhost/sluice/sluice:1'
const namespace = 'default'
const chatsAtOnce = 4

interface Sample {
  readonly atMs: number
  readonly residentMiB: number
  readonly storeMiB: number
  readonly logMiB: number
  readonly events: number
  readonly pods: number
}

const counts = { chats: 0, wakes: 0, reads: 0, writes: 0, jobs: 0, scalings: 0, failures: 0 }
const failures = new Map<string, number>()
const data = mkdtempSync(join(tmpdir(), 'sluice-soak-'))
const over = new AbortController()
const samples: Sample[] = []

const folder = join(data, 'volumes/userdata/models/tiny')
mkdirSync(folder, { recursive: true })
await writeTinyModel(join(folder, 'model.gguf'), { chatTemplate: tinyPlainTemplate })
const sluice = await SluiceProcess.start(data, ['--no-demo-model', '--idle-window', '10'])
try {
  const client = await connectKubernetes(sluice.kubeconfig)
  await prepare(client)
  const begun = Date.now()
  const work = [
    ...Array.from({ length: chatsAtOnce }, () => repeat('chat', 20, () => chat('awake', 'chats'))),
    repeat('wake', 25_000, () => chat('sleeper', 'wakes')),
    repeat('read', 300, () => read(client)),
    repeat('write', 500, () => write(client)),
    repeat('job', 4_000, () => runJob(client)),
    repeat('scale', 5_000, () => scale(client)),
  ]
  while (Date.now() - begun < durationMs) {
    await sleep(Math.min(15_000, durationMs / 20))
    samples.push(await sample(client, Date.now() - begun))
    const { residentMiB, storeMiB, logMiB, events, pods } = samples.at(-1) ?? {
      residentMiB: 0,
      storeMiB: 0,
      logMiB: 0,
      events: 0,
      pods: 0,
    }
    const at = Math.round((Date.now() - begun) / 1000)
    console.log(
      `${at} s: ${residentMiB.toFixed(0)} MiB resident, store ${storeMiB.toFixed(1)} MiB, logs ${logMiB.toFixed(1)} MiB, ` +
        `${events} Events, ${pods} Pods, ${JSON.stringify(counts)}`,
    )
  }
  over.abort()
  await Promise.all(work)
  client.close()
  report()
} finally {
  sluice.destroy()
  for (const pid of new Set([...processesMentioning(data), ...podProcesses(data)])) killIfThere(pid)
  rmSync(data, { recursive: true, force: true })
}

async function prepare(client: KubernetesClient): Promise<void> {
  const spec = { url: 'pvc://userdata/models/tiny', engine: 'LlamaCpp', scaleDownDelaySeconds: 0 }
  await client.create(modelKind, {
    metadata: { name: 'awake', namespace: 'sluice' },
    spec: { ...spec, minReplicas: 1 },
  })
  await client.create(modelKind, {
    metadata: { name: 'sleeper', namespace: 'sluice' },
    spec: { ...spec, minReplicas: 0 },
  })
  await client.create(deploymentKind, {
    metadata: { name: 'web', namespace },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'web' } },
      template: podTemplate('exec sleep 100000', 'Always'),
    },
  })
}

function podTemplate(script: string, restartPolicy: string) {
  return {
    metadata: { labels: { app: 'web' } },
    spec: {
      restartPolicy,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image, command: ['/bin/sh', '-c', script] }],
    },
  }
}

/** Again and again, with a pause, until the time is over. What fails is counted. */
async function repeat(name: string, pauseMs: number, act: () => Promise<void>): Promise<void> {
  while (!over.signal.aborted) {
    try {
      await act()
    } catch (error) {
      counts.failures += 1
      const what = `${name}: ${String(error).slice(0, 200)}`
      failures.set(what, (failures.get(what) ?? 0) + 1)
    }
    await sleep(pauseMs, undefined, { signal: over.signal }).catch(() => {})
  }
}

async function chat(model: string, counted: 'chats' | 'wakes'): Promise<void> {
  const answer = await fetch(`${sluice.endpoints.gateway}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 16, stream: true }),
    signal: AbortSignal.timeout(60_000),
  })
  const text = await answer.text()
  if (answer.status !== 200 || !text.includes('[DONE]')) throw new Error(`${answer.status} ${text.slice(-200)}`)
  counts[counted] += 1
}

async function read(client: KubernetesClient): Promise<void> {
  await client.list(podKind)
  await client.list(modelKind, { namespace: 'sluice' })
  counts.reads += 2
}

async function write(client: KubernetesClient): Promise<void> {
  const name = `note-${counts.writes % 200}`
  const value = String(counts.writes).repeat(200)
  if (await client.get(configMapKind, { namespace, name }))
    await client.patch(configMapKind, { namespace, name }, { data: { value } })
  else await client.create(configMapKind, { metadata: { name, namespace }, data: { value } })
  counts.writes += 1
}

async function runJob(client: KubernetesClient): Promise<void> {
  const name = `job-${(counts.jobs += 1)}`
  const template = podTemplate('yes hello | head -c 50000; exit 0', 'Never')
  const spec = { template: { ...template, metadata: {} }, ttlSecondsAfterFinished: 20, backoffLimit: 0 }
  await client.create(jobKind, { metadata: { name, namespace }, spec })
  const old = `job-${counts.jobs - 20}`
  if (await client.get(jobKind, { namespace, name: old })) {
    await client.delete(jobKind, { namespace, name: old }, { propagation: 'Background' })
  }
}

async function scale(client: KubernetesClient): Promise<void> {
  counts.scalings += 1
  await client.scale(deploymentKind, { namespace, name: 'web' }, counts.scalings % 8)
}

async function sample(client: KubernetesClient, atMs: number): Promise<Sample> {
  const status = readFileSync(`/proc/${sluice.endpoints.pid}/status`, 'utf8')
  const size = (file: string) => statSync(join(data, file), { throwIfNoEntry: false })?.size ?? 0
  return {
    atMs,
    residentMiB: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024,
    storeMiB: (size('sluice.db') + size('sluice.db-wal')) / 1024 / 1024,
    logMiB: size('logs/sluice.log') / 1024 / 1024,
    events: (await client.list(eventKind)).items.length,
    pods: (await client.list(podKind)).items.length,
  }
}

/** The second quarter is warm; what grows between it and the last one goes on growing. */
function report(): void {
  const quarter = (index: number) => samples.filter(({ atMs }) => Math.floor((atMs / durationMs) * 4) === index)
  const median = (of: readonly Sample[], field: keyof Sample) =>
    of.map((one) => one[field]).toSorted((one, other) => one - other)[Math.floor(of.length / 2)] ?? 0
  console.log(
    `\n${'after the second quarter'.padEnd(28)}${'then'.padStart(10)}${'last'.padStart(10)}${'ratio'.padStart(8)}`,
  )
  for (const field of ['residentMiB', 'storeMiB', 'events', 'pods'] as const) {
    const then = median(quarter(1), field)
    const last = median(quarter(3), field)
    console.log(
      `${field.padEnd(28)}${then.toFixed(1).padStart(10)}${last.toFixed(1).padStart(10)}${(last / then).toFixed(2).padStart(8)}`,
    )
  }
  console.log(JSON.stringify(counts))
  for (const [what, times] of failures) console.log(`${times} × ${what}`)
}
