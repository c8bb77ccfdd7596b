import { createServer } from 'node:http'
import type { Clock } from '../../foundation/clock.ts'
import { aborted } from '../aborted.ts'
import { type CachedWeightsOptions, type WeightsProgress, cachedWeights } from './cached-weights.ts'
import { linkWeights } from './link-weights.ts'

export interface WeightsProgramOptions extends Omit<CachedWeightsOptions, 'onProgress'> {
  /** Where the Model appears. */
  readonly linkFolder: string
  /** Where a probe asks whether it is there. */
  readonly listen: { readonly host: string; readonly port: number }
  /** One line for people. */
  readonly print: (line: string) => void
}

/** Often enough to be told from a copy that is stuck. */
const sayEveryMs = 5_000
const gibibyte = 2 ** 30

/**
 * The program that runs beside an engine: it brings the Model's files to the node, says when they are there, and keeps
 * them there for as long as it runs.
 */
export async function runWeights(options: WeightsProgramOptions): Promise<void> {
  const { clock, signal, print, source, linkFolder } = options
  let isReady = false
  let progress: WeightsProgress | undefined
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/ready' ? (isReady ? 200 : 503) : 404, { 'content-type': 'application/json' })
    // In the words in which the controller is told how far any load is.
    const load = progress && { phase: 'copying', bytes: progress.copiedBytes, totalBytes: progress.bytes }
    response.end(JSON.stringify({ ready: isReady, ...load }))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.listen.port, options.listen.host, resolve)
  })
  try {
    const said = sayNowAndThen(clock, print)
    const begun = clock.now()
    const weights = await cachedWeights({
      ...options,
      onProgress: (now) => {
        progress = now
        said(`${now.phase}: ${inGibibytes(now.copiedBytes)} of ${inGibibytes(now.bytes)} GiB`)
      },
    })
    linkWeights(weights, linkFolder, source.path)
    options.step?.('linked')
    const seconds = Math.round((clock.now() - begun) / 1000)
    const where = weights.uncached === undefined ? 'on this node' : `read from the claim: ${weights.uncached}`
    print(`${inGibibytes(weights.manifest.bytes)} GiB are ${where} (${seconds} s)`)
    isReady = true
    options.step?.('ready')
    await aborted(signal)
    weights.release()
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

function sayNowAndThen(clock: Clock, print: (line: string) => void): (line: string) => void {
  let saidAt = -Infinity
  return (line) => {
    if (clock.now() - saidAt < sayEveryMs) return
    saidAt = clock.now()
    print(line)
  }
}

function inGibibytes(bytes: number): string {
  return (bytes / gibibyte).toFixed(bytes < gibibyte ? 3 : 1)
}
