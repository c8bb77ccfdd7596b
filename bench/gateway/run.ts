// Gateways side by side: each alone on the first core, the same stub upstream and the same load on the others.
//   node bench/gateway/run.ts [--seconds 5] [--rounds 3] [--only sluice,nginx]
//       [--rows throughput,models,latency,streams]
// By processor time: requests for each second that the gateway had a core. That is what it can do when it has the core
// to itself, and what else the machine does disturbs it little.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { manyModels } from './bench-models.ts'
import { moveHere, shareCores, usableCores } from './cores.ts'
import { type Contestant, type Load, bestRates, bestStreamCosts, medianLatencies } from './measurements.ts'
import { loadByNode } from './node-load.ts'
import { type Peer, type PeerSetting, startNginx, startPeers, startSluice } from './peers.ts'
import { firstLine, spawnPinned, stopChild } from './pinned-process.ts'
import { StolenTime } from './stolen-time.ts'
import { loadByWrk, wrkIsInstalled } from './wrk-load.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    rows: { type: 'string', default: 'throughput,models,latency,streams' },
    streams: { type: 'string', default: '2000' },
  },
})
const [seconds, rounds, streams] = [Number(values.seconds), Number(values.rounds), Number(values.streams)]
const windows = { seconds, rounds, connections: 64 }
const latencyWindows = { perSecond: 500, seconds: 1, rounds: Math.max(30, rounds) }

const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-gateway-'))
const cores = shareCores(usableCores())
moveHere(cores.load)
const stub = spawnPinned(cores.stub, process.execPath, [
  join(import.meta.dirname, 'stub-upstream.ts'),
  String(manyModels),
])
const setting: PeerSetting = { upstreamPort: Number(await firstLine(stub)), core: cores.gateway, folder }
const load: Load = wrkIsInstalled() ? (peer, shape) => loadByWrk(peer, shape, cores.load, folder) : loadByNode
const peers = await startPeers(setting, values.only.split(',').filter(Boolean))
const stolen = new StolenTime()
console.log(
  `gateway on core ${cores.gateway}, stub on ${cores.stub}, load on ${cores.load} ${wrkIsInstalled() ? '(wrk)' : '(Node)'}`,
)

const sections: Readonly<Record<string, () => Promise<void>>> = {
  throughput: printThroughput,
  models: printModels,
  latency: printLatency,
  streams: printStreams,
}
try {
  for (const name of values.rows.split(',')) {
    const print = sections[name]
    if (!print) throw new Error(`there are no rows "${name}": ${Object.keys(sections).join(', ')}`)
    stolen.share()
    await print()
    console.log(`(the host took ${(stolen.share() * 100).toFixed(0)} % of the machine's time)`)
  }
} finally {
  for (const peer of peers) await peer.stop()
  await stopChild(stub)
  rmSync(folder, { recursive: true, force: true })
}

async function printThroughput(): Promise<void> {
  const contestants = peers.map((peer) => ({ peer, models: 1 }))
  const rates = await bestRates(contestants, load, windows)
  const ours = rates.find(({ peer }) => peer.name === 'sluice')?.perCore ?? Number.NaN
  heading('requests/s per core', 'answers/s here', 'errors', 'sluice / it')
  for (const { peer, perCore, perSecond, errors } of rates) {
    row(peer.name, times(perCore), times(perSecond), String(errors), `${(ours / perCore).toFixed(2)}×`)
  }
}

/**
 * Compares a gateway with one model and with many. With all at one address this shows what the models cost, with one
 * address each what their connections cost in addition. The same connections in nginx are shown below.
 */
async function printModels(): Promise<void> {
  const groups: Contestant[][] = [[], []]
  const add = (group: number, peer: Peer | undefined, models: number) => peer && groups[group]?.push({ peer, models })
  try {
    add(0, await startSluice(setting), 1)
    add(0, await startSluice(setting, manyModels), manyModels)
    add(0, await startSluice(setting, manyModels, manyModels), manyModels)
    add(1, await startNginx(setting), 1)
    add(1, await startNginx(setting, manyModels), manyModels)
    const rates = await bestRates(groups.flat(), load, windows)
    heading('requests/s per core', 'answers/s here', 'errors', '/ one model')
    for (const group of groups) {
      const ofGroup = rates.filter(({ peer }) => group.some((one) => one.peer === peer))
      const one = ofGroup[0]?.perCore ?? Number.NaN
      for (const { peer, perCore, perSecond, errors } of ofGroup) {
        row(peer.name, times(perCore), times(perSecond), String(errors), `${(perCore / one).toFixed(2)}×`)
      }
    }
  } finally {
    for (const { peer } of groups.flat()) await peer.stop()
  }
}

async function printLatency(): Promise<void> {
  // V8 compiles code while it is used, and that must be over before the measurement.
  for (const peer of peers) await load(peer, { connections: windows.connections, models: 1, seconds: 3 })
  const results = await medianLatencies(peers, latencyWindows)
  const nginx = results.find(({ peer }) => peer.name === 'nginx')
  const over = (value: number, base: number | undefined) => (base === undefined ? '' : (value - base).toFixed(2))
  heading(`ms at ${latencyWindows.perSecond}/s: p50`, 'p99', 'p50 − nginx', 'p99 − nginx', 'unanswered')
  for (const { peer, p50, p99, unanswered } of results) {
    row(peer.name, p50.toFixed(2), p99.toFixed(2), over(p50, nginx?.p50), over(p99, nginx?.p99), String(unanswered))
  }
}

async function printStreams(): Promise<void> {
  const results = await bestStreamCosts(peers, { streams, events: 20 * seconds, rounds })
  const nginx = results.find(({ peer }) => peer.name === 'nginx')?.microsecondsPerChunk
  console.log(`\n${streams.toLocaleString('en')} streams of server-sent events, 20/s each`)
  heading('µs a chunk', '/ nginx', 'delay p50/p99 ms', 'delay grows by ms', 'KB a stream', 'failed')
  for (const { peer, microsecondsPerChunk, delay, bytesPerStream, failed } of results) {
    if (failed === streams) {
      row(peer.name, ...Array.from({ length: 5 }, () => '–'), String(failed))
      continue
    }
    const share = nginx === undefined ? '' : `${(microsecondsPerChunk / nginx).toFixed(2)}×`
    const delays = [`${delay.p50.toFixed(1)}/${delay.p99.toFixed(1)}`, delay.growth.toFixed(1)]
    row(
      peer.name,
      microsecondsPerChunk.toFixed(1),
      share,
      ...delays,
      (bytesPerStream / 1024).toFixed(1),
      String(failed),
    )
  }
}

function times(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
}

function heading(...titles: string[]): void {
  console.log(`\n${''.padEnd(26)}${titles.map((title) => title.padStart(20)).join('')}`)
}

function row(name: string, ...cells: string[]): void {
  console.log(`${name.padEnd(26)}${cells.map((cell) => cell.padStart(20)).join('')}`)
}
