// Requests per second over TLS, ours beside a real kube-apiserver with etcd on the same machine in the same run.
//   node bench/api-server.ts [--requests 2000]
import { parseArgs } from 'node:util'
import { type BenchKind, configMaps, namespace, widgetDefinition, widgets } from './bench-objects.ts'
import { type Contestant, startContestants } from './contestant.ts'
import { HttpClient, type Target } from './http-client.ts'
import { perSecond } from './load.ts'
import { RatioTable } from './ratio-table.ts'
import { mebibytes } from './process-use.ts'

const { values } = parseArgs({ options: { requests: { type: 'string', default: '2000' } } })
const requests = Number(values.requests)
const lists = 100

interface Operation {
  readonly name: string
  run(contestant: Contestant, kind: BenchKind, clients: number): Promise<number>
}

const nameOf = (clients: number, index: number) => `c${clients}-${index}`

const operations: readonly Operation[] = [
  {
    name: 'create',
    run: ({ target }, kind, clients) =>
      perSecond(target, clients, requests, (client, index) =>
        client.expect('POST', kind.path, kind.make(nameOf(clients, index))),
      ),
  },
  {
    name: 'get',
    run: ({ target }, kind, clients) =>
      perSecond(target, clients, requests, (client, index) =>
        client.expect('GET', `${kind.path}/${nameOf(clients, index)}`),
      ),
  },
  {
    name: `list of ${requests}`,
    run: ({ target }, kind, clients) => perSecond(target, clients, lists, (client) => client.expect('GET', kind.path)),
  },
  {
    name: 'list of 500 of them',
    run: ({ target }, kind, clients) =>
      perSecond(target, clients, lists, (client) => client.expect('GET', `${kind.path}?limit=500`)),
  },
  {
    name: 'merge patch',
    run: ({ target }, kind, clients) =>
      perSecond(target, clients, requests / 2, (client, index) =>
        client.expect(
          'PATCH',
          `${kind.path}/${nameOf(clients, index)}`,
          kind.patch(index),
          'application/merge-patch+json',
        ),
      ),
  },
  {
    name: 'server-side apply',
    run: ({ target }, kind, clients) =>
      perSecond(target, clients, requests / 2, (client, index) => {
        const name = nameOf(clients, index)
        const path = `${kind.path}/${name}?fieldManager=bench&force=true`
        return client.expect(
          'PATCH',
          path,
          { ...kind.make(name), ...kind.patch(index) },
          'application/apply-patch+yaml',
        )
      }),
  },
  {
    name: 'delete',
    run: ({ target }, kind, clients) =>
      perSecond(target, clients, requests, (client, index) =>
        client.expect('DELETE', `${kind.path}/${nameOf(clients, index)}`),
      ),
  },
]

const contestants = await startContestants()
const idle = contestants.map((contestant) => contestant.resident())
const peak = [...idle]
try {
  for (const contestant of contestants) await prepare(contestant)
  for (const contestant of contestants) await warmUp(contestant)
  const table = new RatioTable('requests per second', 'higher')
  for (const kind of [configMaps, widgets]) {
    for (const clients of [1, 16]) {
      for (const operation of operations) {
        const results = []
        const cpu: number[] = []
        for (const [index, contestant] of contestants.entries()) {
          const sampling = setInterval(() => (peak[index] = Math.max(peak[index] ?? 0, contestant.resident())), 50)
          const cpuBefore = contestant.cpuSeconds()
          const value = await operation.run(contestant, kind, clients).catch((error: unknown) => {
            console.error(`${contestant.name}: ${String(error)}`)
            return undefined
          })
          clearInterval(sampling)
          cpu.push(contestant.cpuSeconds() - cpuBefore)
          results.push({ name: contestant.name, value })
        }
        table.row(`${kind.name}, ${operation.name}, ${clients} client${clients > 1 ? 's' : ''}`, results, cpuNote(cpu))
      }
    }
  }
  for (const [index, contestant] of contestants.entries()) {
    const [before, most, now] = [idle[index] ?? 0, peak[index] ?? 0, contestant.resident()].map(mebibytes)
    console.log(`${contestant.name}: ${before} resident before, ${most} at its peak, ${now} after`)
  }
} finally {
  for (const contestant of contestants) await contestant.stop()
}

/** Less disturbed than the rates by whatever else the machine does. */
function cpuNote([ours = 0, theirs]: readonly number[]): string {
  return theirs === undefined || ours === 0 ? '' : `${(theirs / ours).toFixed(1)}× the processor time`
}

async function prepare({ name, target }: Contestant): Promise<void> {
  const client = await HttpClient.open(target)
  await client.expect('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
  const defined = await client.request(
    'POST',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    widgetDefinition,
  )
  if (defined.code >= 300) console.error(`${name} does not take the definition: ${defined.code}`)
  const deadline = performance.now() + 10_000
  while (defined.code < 300 && (await client.request('GET', widgets.path)).code !== 200) {
    if (performance.now() > deadline) {
      console.error(`${name} does not serve the custom resource`)
      break
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  client.close()
}

/**
 * Both have long been running where they are used: what they compile and grow at first is not what is asked here. With several
 * clients and with one alone, because a write that is alone takes another way than those that share a commit.
 */
async function warmUp({ target }: Contestant): Promise<void> {
  for (const [clients, rounds] of [
    [4, 1000],
    [1, 300],
  ] as const) {
    for (const kind of [configMaps, widgets]) await warmUpKind(target, kind, clients, rounds)
  }
}

async function warmUpKind(target: Target, kind: BenchKind, clients: number, rounds: number): Promise<void> {
  await perSecond(target, clients, rounds, async (client, index) => {
    const name = `warm-${index}`
    const path = `${kind.path}/${name}`
    const applied = { ...kind.make(name), ...kind.patch(index) }
    await client.expect('POST', kind.path, kind.make(name))
    await client.expect('GET', path)
    await client.expect('PATCH', path, kind.patch(index), 'application/merge-patch+json')
    await client.expect('PATCH', `${path}?fieldManager=bench&force=true`, applied, 'application/apply-patch+yaml')
    if (index % 10 === 0) await client.expect('GET', `${kind.path}?limit=500`)
    await client.expect('DELETE', path)
  })
}
