// From `kubectl apply` to Ready, for a program that is ready at once: what the cluster adds to the start of a process.
//   node bench/pod-start.ts [--times 30] [--many 100] [--pods]      (--pods: bare Pods instead of Deployments)
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { connectKubernetes } from '../src/cluster/kubernetes-client.ts'
import { deploymentKind } from '../src/resources/deployment.ts'
import { podKind } from '../src/resources/pod.ts'
import { startSluice } from './contestant.ts'
import { PodArrivals } from './pod-arrivals.ts'

const { values } = parseArgs({
  options: {
    times: { type: 'string', default: '30' },
    many: { type: 'string', default: '100' },
    pods: { type: 'boolean', default: false },
  },
})
const endpointsSchema = z.object({ registry: z.string() })
const namespace = 'default'
const program = ['/bin/sleep', '100000']
const data = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const sluice = await startSluice(data, true)
try {
  const client = await connectKubernetes(join(data, 'kubeconfig'))
  const { registry } = endpointsSchema.parse(JSON.parse(readFileSync(join(data, 'endpoints.json'), 'utf8')))
  const arrivals = await PodArrivals.watch(client, namespace)
  const containers = (limits?: object) => [
    { name: 'main', image: `${registry}/sluice/llama-cpp`, command: program, ...(limits && { resources: { limits } }) },
  ]

  async function start(name: string, limits?: object): Promise<void> {
    const spec = { containers: containers(limits), terminationGracePeriodSeconds: 0 }
    if (values.pods) return void (await client.create(podKind, { metadata: { name, namespace }, spec }))
    const labels = { app: name }
    const template = { metadata: { labels }, spec }
    const metadata = { name, namespace }
    await client.create(deploymentKind, { metadata, spec: { selector: { matchLabels: labels }, template } })
  }

  const end = (name: string) => client.delete(values.pods ? podKind : deploymentKind, { namespace, name })

  async function oneByOne(what: string, limits?: object): Promise<number> {
    const taken: number[] = []
    for (let round = 0; round < Number(values.times); round += 1) {
      const name = `one-${what.replaceAll(/\W+/g, '-')}-${round}`
      const startedAt = performance.now()
      await start(name, limits)
      await arrivals.ready(name)
      taken.push(performance.now() - startedAt)
      await end(name)
      await arrivals.gone(name)
    }
    report(what, taken)
    return quantile(taken, 0.5)
  }

  async function together(count: number): Promise<number> {
    const names = Array.from({ length: count }, (_, index) => `of-${count}-${index}`)
    const cpuBefore = sluice.cpuSeconds()
    const startedAt = performance.now()
    await Promise.all(names.map((name) => start(name)))
    await Promise.all(names.map((name) => arrivals.ready(name)))
    const each = (performance.now() - startedAt) / count
    const cpu = ((sluice.cpuSeconds() - cpuBefore) * 1000) / count
    console.log(`${`${count} at once, each`.padEnd(40)}${ms(each)}   ${cpu.toFixed(1)} ms of processor time`)
    await Promise.all(names.map(end))
    await Promise.all(names.map((name) => arrivals.gone(name)))
    return cpu
  }

  console.log(`${values.pods ? 'Pods' : 'Deployments of one Pod'}, created over HTTPS until Ready is seen by a watch\n`)
  const own = await ownStart()
  await oneByOne('warm-up')
  const plain = await oneByOne('one at a time')
  await oneByOne('with a memory limit', { memory: '256Mi' })
  await oneByOne('with a cpu limit', { cpu: '1' })
  console.log(`\np50 over the process's own start: ${ms(plain - own)} (to be reached: 100 ms)\n`)
  await together(10)
  const few = await together(10)
  const many = await together(Number(values.many))
  console.log(`\nprocessor time per Pod, ${values.many} against 10: ${(many / few).toFixed(2)}× (at most 2×)`)
  arrivals.stop()
} finally {
  await sluice.stop()
  rmSync(data, { recursive: true, force: true })
}

/** How long the operating system takes to start the same program, without Sluice. */
async function ownStart(): Promise<number> {
  const taken: number[] = []
  for (let round = 0; round < Number(values.times); round += 1) {
    const startedAt = performance.now()
    const child = spawn(program[0] ?? '', program.slice(1), { stdio: 'ignore' })
    await once(child, 'spawn')
    taken.push(performance.now() - startedAt)
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  report("the process's own start", taken)
  return quantile(taken, 0.5)
}

function report(what: string, taken: readonly number[]): void {
  const [p50, p90, worst] = [0.5, 0.9, 1].map((share) => ms(quantile(taken, share)))
  console.log(`${what.padEnd(40)}p50 ${p50}   p90 ${p90}   worst ${worst}`)
}

function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`.padStart(10)
}
