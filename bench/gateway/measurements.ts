import { cpuSeconds, residentBytes } from '../process-use.ts'
import { loadAtRate } from './node-load.ts'
import type { Answered, LoadShape } from './node-load.ts'
import type { Peer } from './peers.ts'
import { median, percentile } from './statistics.ts'
import { loadStreams } from './stream-load.ts'

export type Load = (peer: Peer, shape: LoadShape) => Promise<Answered>

export interface Contestant {
  readonly peer: Peer
  readonly models: number
}

export interface Rate {
  readonly peer: Peer
  /** Answers per second of processor time of the gateway. */
  readonly perCore: number
  readonly perSecond: number
  /** In all windows together. */
  readonly errors: number
}

/**
 * Puts the same load on each gateway, one window at a time in several rounds. Each one's best window counts, as the
 * least disturbed.
 */
export async function bestRates(
  contestants: readonly Contestant[],
  load: Load,
  options: { readonly seconds: number; readonly rounds: number; readonly connections: number },
): Promise<Rate[]> {
  const { seconds, rounds, connections } = options
  const rates = new Map<Peer, Rate>()
  for (const { peer, models } of contestants) await load(peer, { connections, models, seconds: Math.min(3, seconds) })
  for (let round = 0; round < rounds; round++) {
    for (const { peer, models } of contestants) {
      // Reopens connections that were closed during the others' turns, before the window begins.
      await load(peer, { connections, models, seconds: 1 })
      const before = processorSeconds(peer)
      const { answers, errors, seconds: took } = await load(peer, { connections, models, seconds })
      const perCore = answers / (processorSeconds(peer) - before)
      const best = rates.get(peer)
      const rate = best && best.perCore > perCore ? best : { perCore, perSecond: answers / took }
      rates.set(peer, { ...rate, peer, errors: errors + (best?.errors ?? 0) })
    }
  }
  return [...rates.values()]
}

export interface Latency {
  readonly peer: Peer
  readonly p50: number
  readonly p99: number
  readonly unanswered: number
}

/**
 * Takes short windows in turn and returns the median of their results: a short disturbance spoils one window, not the
 * result.
 */
export async function medianLatencies(
  peers: readonly Peer[],
  options: { readonly perSecond: number; readonly seconds: number; readonly rounds: number },
): Promise<Latency[]> {
  const windows = new Map(peers.map((peer) => [peer, [] as Array<{ p50: number; p99: number; unanswered: number }>]))
  for (let round = 0; round < options.rounds; round++) {
    for (const [peer, seen] of windows) {
      const { latencies, unanswered } = await loadAtRate(peer, { ...options, connections: 64 })
      seen.push({ p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99), unanswered })
    }
  }
  return [...windows].map(([peer, seen]) => ({
    peer,
    p50: median(seen.map(({ p50 }) => p50)),
    p99: median(seen.map(({ p99 }) => p99)),
    unanswered: seen.reduce((sum, window) => sum + window.unanswered, 0),
  }))
}

export interface StreamCost {
  readonly peer: Peer
  readonly microsecondsPerChunk: number
  readonly delay: StreamDelay
  readonly bytesPerStream: number
  readonly failed: number
}

interface StreamDelay {
  readonly p50: number
  readonly p99: number
  /** How much larger the delay is at the end than at the beginning. */
  readonly growth: number
}

/**
 * The best of several rounds, but the largest memory, because a process that has grown once does not grow again. A
 * gateway that fails is not measured again.
 */
export async function bestStreamCosts(
  peers: readonly Peer[],
  options: { readonly streams: number; readonly events: number; readonly rounds: number },
): Promise<StreamCost[]> {
  const costs = new Map<Peer, StreamCost>()
  for (const peer of peers) await loadStreams(peer, { streams: 64, events: 50 })
  for (let round = 0; round < options.rounds; round++) {
    for (const peer of peers) {
      const before = costs.get(peer)
      if (before && before.failed > 0) continue
      const cost = await streamCost(peer, options)
      costs.set(peer, before ? betterOf(before, cost) : cost)
    }
  }
  return [...costs.values()]
}

function betterOf(before: StreamCost, cost: StreamCost): StreamCost {
  return {
    peer: cost.peer,
    microsecondsPerChunk: Math.min(before.microsecondsPerChunk, cost.microsecondsPerChunk),
    delay: before.delay.p99 < cost.delay.p99 ? before.delay : cost.delay,
    bytesPerStream: Math.max(before.bytesPerStream, cost.bytesPerStream),
    failed: cost.failed,
  }
}

async function streamCost(peer: Peer, options: { streams: number; events: number }): Promise<StreamCost> {
  const [processorBefore, memoryBefore] = [processorSeconds(peer), memoryBytes(peer)]
  let memoryDuring = memoryBefore
  const whileOpen = () => (memoryDuring = memoryBytes(peer))
  const { chunks, failed, delays } = await loadStreams(peer, { ...options, whileOpen })
  const quarter = Math.floor(delays.length / 4)
  const sorted = Float64Array.from(delays).sort()
  return {
    peer,
    microsecondsPerChunk: ((processorSeconds(peer) - processorBefore) / chunks) * 1e6,
    delay: {
      p50: percentile(sorted, 0.5),
      p99: percentile(sorted, 0.99),
      growth: median(delays.slice(-quarter)) - median(delays.slice(0, quarter)),
    },
    bytesPerStream: (memoryDuring - memoryBefore) / options.streams,
    failed,
  }
}

const processorSeconds = (peer: Peer) => peer.pids().reduce((sum, pid) => sum + cpuSeconds(pid), 0)
const memoryBytes = (peer: Peer) => peer.pids().reduce((sum, pid) => sum + residentBytes(pid), 0)
