// Requests per second over TLS, ours beside a real kube-apiserver with etcd on the same machine in the same run.
//   node bench/api-server.ts [--requests 2000] [--rounds 1] [--only 'create|merge patch']
import { parseArgs } from 'node:util'
import { type BenchKind, configMaps, namespace, widgetDefinition, widgets } from './bench-objects.ts'
import { type Contestant, startContestants } from './contestant.ts'
import { HttpClient, type Target } from './http-client.ts'
import { perSecond } from './load.ts'
import { RatioTable } from './ratio-table.ts'
import { mebibytes } from './process-use.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
})
const requests = Number(values.requests)
const rounds = Number(values.rounds)
const isWanted = (name: string) => needed.has(name) || new RegExp(values.only).test(name)
/** The others need the objects that these make, and the next round needs them gone. */
const needed = new Set(['create', 'delete'])
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
      for (const { operation, results } of await measure(kind, clients)) {
        const shown = results.map(({ name, rates }) => ({ name, value: median(rates) }))
        const cpu = results.map(({ cpuSeconds }) => cpuSeconds)
        table.row(`${kind.name}, ${operation.name}, ${clients} client${clients > 1 ? 's' : ''}`, shown, cpuNote(cpu))
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

interface Measured {
  readonly operation: Operation
  readonly results: Array<{ readonly name: Contestant['name']; readonly rates: number[]; cpuSeconds: number }>
}

/**
 * Measures in rounds, and in each round one contestant after the other, so that a disturbance of the machine affects
 * all.
 */
async function measure(kind: BenchKind, clients: number): Promise<readonly Measured[]> {
  const measured: Measured[] = operations
    .filter(({ name }) => isWanted(name))
    .map((operation) => ({
      operation,
      results: contestants.map(({ name }) => ({ name, rates: [], cpuSeconds: 0 })),
    }))
  for (let round = 0; round < rounds; round += 1) {
    for (const { operation, results } of measured) {
      for (const [index, contestant] of contestants.entries()) {
        const result = results[index]
        if (result) await measureOne(operation, kind, clients, { index, contestant, result })
      }
    }
  }
  return measured
}

async function measureOne(
  operation: Operation,
  kind: BenchKind,
  clients: number,
  {
    index,
    contestant,
    result,
  }: { readonly index: number; readonly contestant: Contestant; readonly result: Measured['results'][number] },
): Promise<void> {
  const sampling = setInterval(() => (peak[index] = Math.max(peak[index] ?? 0, contestant.resident())), 50)
  const cpuBefore = contestant.cpuSeconds()
  try {
    result.rates.push(await operation.run(contestant, kind, clients))
  } catch (error) {
    console.error(`${contestant.name}: ${String(error)}`)
  }
  clearInterval(sampling)
  result.cpuSeconds += contestant.cpuSeconds() - cpuBefore
}

/** The median; `undefined` when no measurement succeeded. */
function median(rates: readonly number[]): number | undefined {
  return rates.toSorted((one, other) => one - other)[Math.floor(rates.length / 2)]
}

/** Processor time, which is less affected by whatever else the machine does than the rates are. */
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
 * Warms a server up, since in real use both have been running for long and their start-up costs are not the question
 * here (Node goes on compiling for some thousand requests of a kind). Uses several clients and then one alone, because
 * a single write takes another path than writes that share a commit.
 */
async function warmUp({ target }: Contestant): Promise<void> {
  for (const [clients, rounds] of [
    [4, 2500],
    [1, 500],
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
