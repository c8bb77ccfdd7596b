// Pods as objects: what a Pod of a Deployment costs from its creation until the Deployment is available, and until it
// is gone again, with 10, 100 and 1,000 of them. A minimal stand-in for the node reports every scheduled Pod as ready.
//   node bench/pods.ts [--sizes 10,100,1000] [--rounds 3]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ClusterApi } from '../src/apiserver/cluster-api.ts'
import { EmbeddedClient } from '../src/cluster/embedded-client.ts'
import { Informer } from '../src/cluster/informer.ts'
import { systemClock } from '../src/foundation/clock.ts'
import { silentLogger } from '../src/foundation/log.ts'
import { coreKinds, customKinds } from '../src/resources/all-kinds.ts'
import { type Deployment, deploymentKind } from '../src/resources/deployment.ts'
import { refOf, timestamp } from '../src/resources/kubernetes-object.ts'
import { namespaceKind } from '../src/resources/namespace.ts'
import { nodeKind } from '../src/resources/node.ts'
import { podKind } from '../src/resources/pod.ts'
import { openSqliteStore } from '../src/store/sqlite-store.ts'
import { WorkloadControllers } from '../src/workloads/workload-controllers.ts'
import { namespace } from './bench-objects.ts'

const { values } = parseArgs({
  options: { sizes: { type: 'string', default: '10,100,1000' }, rounds: { type: 'string', default: '3' } },
})
const sizes = values.sizes.split(',').map(Number)
const deadlineMs = 120_000

const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const store = await openSqliteStore({ path: join(folder, 'sluice.db') })
const client = new EmbeddedClient(new ClusterApi({ store, kinds: [...coreKinds, ...customKinds], clock: systemClock }))
await client.create(namespaceKind, { metadata: { name: namespace } })
const allocatable = { cpu: '64', memory: '64Gi', pods: '100000' }
const conditions = [{ type: 'Ready', status: 'True' }]
await client.create(nodeKind, {
  metadata: { name: 'here' },
  status: { allocatable, capacity: allocatable, conditions },
})

const log = silentLogger
const stopping = new AbortController()
const pods = new Informer({ client, kind: podKind, clock: systemClock, log })
const deployments = new Informer({ client, kind: deploymentKind, clock: systemClock, log })
/** The stand-in for the node. */
pods.onChange(({ type, object }) => {
  if (type === 'deleted' || !object.spec.nodeName) return
  if (object.metadata.deletionTimestamp !== undefined) {
    client.delete(podKind, refOf(object), { graceSeconds: 0 }).catch(() => {})
  } else if (object.status?.phase === 'Pending') {
    const lastTransitionTime = timestamp(systemClock.now())
    const ready = { type: 'Ready', status: 'True', lastTransitionTime } as const
    const status = { ...object.status, phase: 'Running' as const, podIP: '127.64.0.1', conditions: [ready] }
    client.updateStatus(podKind, { ...object, status }).catch(() => {})
  }
})
const informing = [pods.run(stopping.signal), deployments.run(stopping.signal)]
const finalizeNamespace = (name: string) => client.finalizeNamespace(name)
const controllers = new WorkloadControllers({ client, finalizeNamespace, clock: systemClock, log })
await controllers.start(AbortSignal.timeout(deadlineMs))

await measure(10)
const first = sizes[0] ?? 10
let base: number | undefined
console.log('Pods   created → available            deleted → gone              processor time per Pod')
for (const size of sizes) {
  const rounds: Awaited<ReturnType<typeof measure>>[] = []
  // More rounds for the smaller sizes: a single round of ten is over before the clock is exact.
  const count = size < 100 ? Number(values.rounds) * 5 : Number(values.rounds)
  for (let round = 0; round < count; round += 1) rounds.push(await measure(size))
  const median = (of: (round: (typeof rounds)[number]) => number) =>
    rounds.map(of).sort((a, b) => a - b)[Math.floor(rounds.length / 2)] ?? 0
  const cpu = median(({ cpuMs }) => cpuMs)
  base ??= cpu / size
  const cell = (ms: number) => `${ms.toFixed(0)} ms (${(ms / size).toFixed(2)} ms each)`.padEnd(28)
  const ratio = (cpu / size / base).toFixed(2)
  console.log(
    `${String(size).padEnd(6)} ${cell(median(({ upMs }) => upMs))} ${cell(median(({ downMs }) => downMs))}${(cpu / size).toFixed(2)} ms, ${ratio}× that at ${first}`,
  )
}
stopping.abort()
await controllers.stop()
await Promise.all(informing)
await store.close()
rmSync(folder, { recursive: true, force: true })

async function measure(size: number): Promise<{ upMs: number; downMs: number; cpuMs: number }> {
  const before = process.cpuUsage()
  const startedAt = performance.now()
  const labels = { app: 'web' }
  const container = { name: 'main', image: 'registry.local/app:1', ports: [{ containerPort: 80 }] }
  await client.create(deploymentKind, {
    metadata: { name: 'web', namespace },
    spec: {
      replicas: size,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  })
  await until(deployments, () => deployments.get({ namespace, name: 'web' })?.status?.availableReplicas === size)
  const upMs = performance.now() - startedAt
  const deletedAt = performance.now()
  await client.delete(deploymentKind, { namespace, name: 'web' }, { propagation: 'Foreground' })
  await until(deployments, () => deployments.get({ namespace, name: 'web' }) === undefined)
  const { user, system } = process.cpuUsage(before)
  return { upMs, downMs: performance.now() - deletedAt, cpuMs: (user + system) / 1000 }
}

function until(cache: Informer<Deployment>, isSo: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not so after ${deadlineMs} ms`)), deadlineMs)
    const check = () => {
      if (!isSo()) return
      clearTimeout(timer)
      forget()
      resolve()
    }
    const forget = cache.onChange(check)
    check()
  })
}
