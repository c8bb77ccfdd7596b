import type { Clock } from '../../foundation/clock.ts'
import type { FedStream } from './fed-stream.ts'
import type { SpdyHeaders } from './spdy/spdy-headers.ts'

export interface StreamPair {
  readonly port: number
  readonly data: FedStream
  readonly error: FedStream
}

interface HalfPair {
  readonly port: number
  readonly data?: FedStream | undefined
  readonly error?: FedStream | undefined
  readonly cancel: () => void
}

/** How long one stream of a pair waits for the other. */
const pairingMs = 30_000

/** Clients open two streams for each connection, one for data and one for errors: this pairs them. */
export class PortForwardPairs {
  readonly #clock: Clock
  readonly #complete: (pair: StreamPair) => void
  readonly #waiting = new Map<string, HalfPair>()

  constructor(clock: Clock, complete: (pair: StreamPair) => void) {
    this.#clock = clock
    this.#complete = complete
  }

  /** `false`: the stream is of another type. */
  add(stream: FedStream, headers: SpdyHeaders, id: number): boolean {
    const port = readPort(headers.get('port') ?? '')
    const type = headers.get('streamtype')
    if (port === undefined || (type !== 'data' && type !== 'error')) return false
    // Clients that send no request ID open the error stream first and the data stream right after it.
    const request = headers.get('requestid') ?? `stream ${type === 'error' ? id : id - 2}`
    const half = this.#waiting.get(request)
    if (!half) {
      const cancel = this.#clock.after(pairingMs, () => this.#giveUp(request))
      this.#waiting.set(request, { port, [type]: stream, cancel })
      return true
    }
    if (half[type] !== undefined || half.port !== port) return false
    const data = type === 'data' ? stream : half.data
    const error = type === 'error' ? stream : half.error
    if (!data || !error) return false
    half.cancel()
    this.#waiting.delete(request)
    // Clients write nothing on it; if one does, it is discarded.
    error.resume()
    this.#complete({ port, data, error })
    return true
  }

  close(): void {
    for (const { cancel } of this.#waiting.values()) cancel()
    this.#waiting.clear()
  }

  #giveUp(request: string): void {
    const half = this.#waiting.get(request)
    this.#waiting.delete(request)
    half?.error?.end('timed out waiting for the stream of the data')
    half?.data?.destroy()
  }
}

export function readPort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  return port >= 1 && port <= 65_535 ? port : undefined
}
