// What a further embedded cluster costs: from its resource to Running, and the memory it holds at rest, its helpers'
// included.
//   node bench/clusters.ts [--clusters 5] [--rest 20]
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type KubernetesClient, connectKubernetes } from '../src/cluster/kubernetes-client.ts'
import { clusterKind } from '../src/resources/cluster.ts'
import { SluiceProcess } from '../tests/support/sluice-process.ts'

const limits = { runningMs: 300, restMebibytes: 15 }
const { values } = parseArgs({
  options: { clusters: { type: 'string', default: '5' }, rest: { type: 'string', default: '20' } },
})
const restMs = Number(values.rest) * 1000
const data = mkdtempSync(join(tmpdir(), 'sluice-bench-clusters-'))
const sluice = await SluiceProcess.start(data, ['--no-demo-model'])
try {
  const client = await connectKubernetes(sluice.kubeconfig)
  await sleep(restMs)
  const before = mebibytes(sluice.endpoints.pid)
  const times: number[] = []
  let [second, processorMs] = [0, 0]
  for (let number = 1; number <= Number(values.clusters); number += 1) {
    const usedBefore = processorMsOf(sluice.endpoints.pid)
    times.push(await untilRunning(client, `bench-${number}`))
    processorMs += processorMsOf(sluice.endpoints.pid) - usedBefore
    if (number > 1) continue
    await sleep(restMs)
    second = mebibytes(sluice.endpoints.pid) - before
  }
  await sleep(restMs)
  const each = (mebibytes(sluice.endpoints.pid) - before) / times.length
  const sorted = times.toSorted((one, other) => one - other)
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0
  row('the first until Running, ms', times[0] ?? 0, limits.runningMs)
  row('one of them until Running (median), ms', median, limits.runningMs)
  // On a machine that is busy with other things this says more than the time that passed.
  row('processor time for one of them (mean), ms', processorMs / times.length, limits.runningMs)
  row('the first at rest, MiB', second, limits.restMebibytes)
  row('each of them at rest, MiB', each, limits.restMebibytes)
  client.close()
} finally {
  await sluice.stop()
  rmSync(data, { recursive: true, force: true })
}

function row(what: string, value: number, limit: number): void {
  const part = (value / limit).toFixed(2)
  console.log(`${what.padEnd(44)}${value.toFixed(1).padStart(10)}   limit ${limit}   ${part}× of it`)
}

async function untilRunning(client: KubernetesClient, name: string): Promise<number> {
  const spec = { displayName: name, enterprise: 'home', center: 'local-1', deletionPolicy: 'Retain' as const }
  const { resourceVersion } = await client.list(clusterKind)
  const deadline = AbortSignal.timeout(60_000)
  const startedAt = performance.now()
  const watching = client.watch(clusterKind, { resourceVersion }, deadline)
  await client.create(clusterKind, { metadata: { name }, spec })
  for await (const event of watching) {
    if (event.type === 'BOOKMARK' || event.object.metadata.name !== name) continue
    if (event.object.status?.phase === 'Running') return performance.now() - startedAt
  }
  throw new Error(`${name} did not run within a minute`)
}

/** Of all its threads, and of the programs that it has run. */
function processorMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0)
}

/** What the process and those that it has started hold: of what is shared, each its part. */
function mebibytes(pid: number): number {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
  const own = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]
  return Number(own) / 1024 + children.reduce((sum, child) => sum + mebibytes(child), 0)
}
