// One write seen by many watchers: how long until the last of them has it, and how many events per second are sent.
//   node bench/watch-fan-out.ts [--watchers 100] [--writes 300]
import { parseArgs } from 'node:util'
import { configMaps, namespace } from './bench-objects.ts'
import { type Contestant, startContestants } from './contestant.ts'
import { HttpClient } from './http-client.ts'
import { RatioTable } from './ratio-table.ts'
import { type Watcher, openWatcher } from './watcher.ts'

const { values } = parseArgs({
  options: { watchers: { type: 'string', default: '100' }, writes: { type: 'string', default: '300' } },
})
const watcherCount = Number(values.watchers)
const writes = Number(values.writes)

const contestants = await startContestants()
try {
  const results = []
  for (const contestant of contestants) results.push({ name: contestant.name, ...(await measure(contestant)) })
  const latency = new RatioTable(`ms until ${watcherCount} watchers have one write`, 'lower')
  latency.row(
    'median',
    results.map(({ name, median }) => ({ name, value: median })),
  )
  latency.row(
    '99 of 100',
    results.map(({ name, slowest }) => ({ name, value: slowest })),
  )
  const throughput = new RatioTable('events delivered per second', 'higher')
  throughput.row(
    'writes as fast as 4 clients can',
    results.map(({ name, rate }) => ({ name, value: rate })),
  )
} finally {
  for (const contestant of contestants) await contestant.stop()
}

async function measure({ target }: Contestant): Promise<{ median: number; slowest: number; rate: number }> {
  const client = await HttpClient.open(target)
  await client.expect('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
  const { body } = await client.expect('GET', configMaps.path)
  const version = /"resourceVersion": ?"(\d+)"/.exec(body.toString('utf8'))?.[1] ?? ''
  const path = `${configMaps.path}?watch=1&resourceVersion=${version}`
  const watchers = await Promise.all(Array.from({ length: watcherCount }, () => openWatcher(target, path)))
  const latencies: number[] = []
  for (let index = 0; index < writes; index += 1) {
    const startedAt = performance.now()
    await client.expect('POST', configMaps.path, configMaps.make(`one-${index}`))
    await allHave(watchers, index + 1)
    latencies.push(performance.now() - startedAt)
  }
  latencies.sort((left, right) => left - right)
  const startedAt = performance.now()
  const writers = await Promise.all([1, 2, 3, 4].map(() => HttpClient.open(target)))
  await Promise.all(
    writers.map(async (writer, number) => {
      for (let index = number; index < writes; index += writers.length) {
        await writer.expect('POST', configMaps.path, configMaps.make(`many-${index}`))
      }
    }),
  )
  await allHave(watchers, writes * 2)
  const seconds = (performance.now() - startedAt) / 1000
  for (const open of [client, ...writers, ...watchers]) open.close()
  return {
    median: latencies[Math.floor(writes / 2)] ?? 0,
    slowest: latencies[Math.floor(writes * 0.99)] ?? 0,
    rate: (writes * watcherCount) / seconds,
  }
}

async function allHave(watchers: readonly Watcher[], count: number): Promise<void> {
  for (const watcher of watchers) await watcher.until(count)
}
