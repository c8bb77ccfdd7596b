// Many Pods with their own networks on one machine at once: created until they are Ready, asked at their addresses and
// through a Service each, and deleted until nothing of them is left in the machine's network.
//   node bench/pod-network/many.ts [--pods 200]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { networkPolicyKind } from '../../src/resources/network-policy.ts'
import { podKind } from '../../src/resources/pod.ts'
import { serviceKind } from '../../src/resources/service.ts'
import { leftInNetwork } from '../../tests/support/leftover-network.ts'
import { SluiceProcess, podProcesses } from '../../tests/support/sluice-process.ts'
import { PodArrivals } from '../pod-arrivals.ts'
import { cpuSeconds, mebibytes, residentBytes } from '../process-use.ts'
import { namedServer } from '../named-server.ts'

const { values } = parseArgs({ options: { pods: { type: 'string', default: '200' } } })
const count = Number(values.pods)
const namespace = 'default'
const port = 8080
const deadlineMs = 60_000
const creators = 16
/** How many networks are kept ready for new Pods. */
const spares = 3

const data = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const sluice = await SluiceProcess.start(data, ['--no-demo-model', '--no-gateway'])
try {
  const { pid, registry } = sluice.endpoints
  const client = await connectKubernetes(sluice.kubeconfig)
  const arrivals = await PodArrivals.watch(client, namespace)
  const names = Array.from({ length: count }, (_, index) => `pod-${index}`)
  const residentBefore = residentBytes(pid)
  const measured = async (what: string, act: () => Promise<unknown>) => {
    const [startedAt, cpuAt] = [performance.now(), cpuSeconds(pid)]
    await act()
    const [took, cpu] = [performance.now() - startedAt, (cpuSeconds(pid) - cpuAt) * 1000]
    const each = `${(took / count).toFixed(1)} ms each, ${(cpu / count).toFixed(1)} ms of Sluice's processor time`
    console.log(`${what.padEnd(52)}${(took / 1000).toFixed(1).padStart(7)} s   ${each}`)
  }

  const podOf = (name: string, index: number) => ({
    metadata: { name, namespace, labels: { app: name, group: index % 10 === 0 ? 'tenth' : 'other' } },
    spec: {
      terminationGracePeriodSeconds: 5,
      containers: [
        {
          name: 'main',
          image: `${registry}/sluice/llama-cpp`,
          command: ['/usr/bin/perl', '-e', namedServer(port)],
          env: [{ name: 'NAME', value: name }],
          ports: [{ containerPort: port }],
          readinessProbe: { httpGet: { port }, periodSeconds: 1, timeoutSeconds: 5 },
        },
      ],
    },
  })

  // A policy that selects every tenth Pod: these wait for its rules before they start.
  await client.create(networkPolicyKind, {
    metadata: { name: 'tenth', namespace },
    spec: { podSelector: { matchLabels: { group: 'tenth' } }, ingress: [{ ports: [{ port }] }] },
  })
  const addresses = new Map<string, string>()
  await measured('Services created', async () => {
    for (const name of names) {
      const made = await client.create(serviceKind, {
        metadata: { name, namespace },
        spec: { selector: { app: name }, ports: [{ port }] },
      })
      addresses.set(name, made.spec.clusterIP ?? '')
    }
  })
  await measured(`${count} Pods created until Ready`, async () => {
    // Created by a few workers at a time, as several controllers would, and not all at the same instant.
    const left = [...names.entries()]
    const creating = async () => {
      for (let one = left.shift(); one; one = left.shift()) await client.create(podKind, podOf(one[1], one[0]))
    }
    await Promise.all(Array.from({ length: creators }, creating))
    await Promise.all(names.map((name) => arrivals.ready(name)))
  })
  const pods = (await client.list(podKind, { namespace })).items
  const answering = async (places: ReadonlyArray<readonly [string, string]>) => {
    for (const [name, address] of places) await untilAnswered(name, address)
  }
  await measured('every one asked at its address', () =>
    answering(pods.map(({ metadata, status }) => [metadata.name, status?.podIP ?? ''])),
  )
  await measured('every one asked through its Service', () => answering([...addresses]))
  console.log(`${'memory of Sluice'.padEnd(52)}${mebibytes(residentBytes(pid))}, ${mebibytes(residentBefore)} before`)
  await measured(`${count} Pods deleted until gone`, async () => {
    await Promise.all(names.map((name) => client.delete(podKind, { namespace, name })))
    await Promise.all(names.map((name) => arrivals.gone(name)))
  })
  await measured('until nothing is left of them in the network', async () => {
    await eventually('the networks to go', () => namespacesLeft() <= spares)
  })
  for (const name of names) await client.delete(serviceKind, { namespace, name })
  if (podProcesses(data).length > 0) console.log(`processes are left: ${podProcesses(data).join(' ')}`)
  arrivals.stop()
  client.close()
} finally {
  await sluice.stop()
  console.log(`left when Sluice has ended: ${leftInNetwork(data).join(', ') || 'nothing'}`)
  sluice.destroy()
  rmSync(data, { recursive: true, force: true })
}

function namespacesLeft(): number {
  return leftInNetwork(data).filter((name) => /^sluice-[0-9a-f]+-\d+$/.test(name)).length
}

async function untilAnswered(name: string, address: string): Promise<void> {
  let last = ''
  await eventually(`${name} at ${address}`, async () => {
    last = await fetch(`http://${address}:${port}/`, { signal: AbortSignal.timeout(5_000) }).then(
      (response) => response.text(),
      (error: unknown) => String(error),
    )
    return last === name
  }).catch((error: unknown) => {
    throw new Error(`the last answer was ${last}`, { cause: error })
  })
}

async function eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + deadlineMs
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`gave up waiting for ${what}`)
    await sleep(20)
  }
}
