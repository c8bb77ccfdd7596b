// Gateways side by side: each alone on the first core, the same stub upstream and the same load on the others.
//   node bench/gateway/run.ts [--seconds 5] [--only sluice,nginx]
// By processor time: requests for each second that the gateway had a core. That is what it can do when it has the core to
// itself, and what else the machine does disturbs it little.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { cpuSeconds, residentBytes } from '../process-use.ts'
import { load, loadStreams, percentile } from './gateway-load.ts'
import { type Peer, firstLine, spawnPinned, startPeers, stopChild } from './peers.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    streams: { type: 'string', default: '2000' },
  },
})
const seconds = Number(values.seconds)
const only = values.only.split(',').filter(Boolean)
const streams = Number(values.streams)
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-gateway-'))
const stub = spawnPinned('1', process.execPath, [join(import.meta.dirname, 'stub-upstream.ts')])
const peers = await startPeers(Number(await firstLine(stub)), folder, only)

const cpu = (peer: Peer) => peer.pids().reduce((sum, pid) => sum + cpuSeconds(pid), 0)
const memory = (peer: Peer) => peer.pids().reduce((sum, pid) => sum + residentBytes(pid), 0)
const times = (value: number) => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2))

try {
  await throughput()
  await latency()
  await events()
} finally {
  for (const peer of peers) await peer.stop()
  await stopChild(stub)
  rmSync(folder, { recursive: true, force: true })
}

async function throughput(): Promise<void> {
  heading('requests/s per core', 'answers/s here', 'errors', "sluice's share")
  let ours = 0
  for (const peer of peers) {
    await load(peer, { connections: 64, seconds: Math.min(3, seconds) })
    const before = cpu(peer)
    const { answers, errors, seconds: took } = await load(peer, { connections: 64, seconds })
    const perCore = answers / (cpu(peer) - before)
    if (peer.name === 'sluice') ours = perCore
    row(peer.name, times(perCore), times(answers / took), String(errors), `${(ours / perCore).toFixed(2)}×`)
  }
}

async function latency(): Promise<void> {
  heading('ms at 500/s: p50', 'p99', 'p50 − nginx', 'p99 − nginx')
  const results = []
  for (const peer of peers) {
    const { latencies } = await load(peer, { connections: 64, seconds, perSecond: 500 })
    results.push({ name: peer.name, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) })
  }
  const nginx = results.find(({ name }) => name === 'nginx')
  for (const { name, p50, p99 } of results) {
    const over = (value: number, base: number | undefined) => (base === undefined ? '' : (value - base).toFixed(2))
    row(name, p50.toFixed(2), p99.toFixed(2), over(p50, nginx?.p50), over(p99, nginx?.p99))
  }
}

async function events(): Promise<void> {
  heading(`µs a chunk, ${streams} streams`, 'delay p50/p99 ms', 'KB a stream', 'failed', '/ nginx')
  const results = []
  for (const peer of peers) {
    await loadStreams(peer, { streams: 64, events: 50 })
    const [cpuBefore, memoryBefore] = [cpu(peer), memory(peer)]
    let memoryDuring = memoryBefore
    const { chunks, failed, delays } = await loadStreams(peer, {
      streams,
      events: 50 * seconds,
      whileOpen: () => (memoryDuring = memory(peer)),
    })
    results.push({
      name: peer.name,
      microseconds: ((cpu(peer) - cpuBefore) / chunks) * 1e6,
      delay: `${percentile(delays, 0.5).toFixed(1)}/${percentile(delays, 0.99).toFixed(1)}`,
      kilobytes: (memoryDuring - memoryBefore) / 1024 / streams,
      failed,
    })
  }
  const nginx = results.find(({ name }) => name === 'nginx')?.microseconds
  for (const { name, microseconds, delay, kilobytes, failed } of results) {
    const share = nginx === undefined ? '' : `${(microseconds / nginx).toFixed(2)}×`
    row(name, microseconds.toFixed(1), delay, kilobytes.toFixed(1), String(failed), share)
  }
}

function heading(...titles: string[]): void {
  console.log(`\n${''.padEnd(14)}${titles.map((title) => title.padStart(20)).join('')}`)
}

function row(name: string, ...cells: string[]): void {
  console.log(`${name.padEnd(14)}${cells.map((cell) => cell.padStart(20)).join('')}`)
}
