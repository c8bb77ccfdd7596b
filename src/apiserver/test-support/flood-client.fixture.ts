import { once } from 'node:events'
import { type TLSSocket, connect } from 'node:tls'
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads'

export interface FloodOptions {
  readonly port: number
  readonly ca: string
  readonly connections: number
  /** Sent together, again as soon as all of the last batch were answered. */
  readonly requests: readonly string[]
  /** Ends after this many batches, or else when it is told to. */
  readonly times?: number | undefined
}

interface FloodOrder {
  readonly options: FloodOptions
  /** Not 0 when the client is to stop. */
  readonly over: Int32Array
}

export interface FloodResult {
  readonly codes: Readonly<Record<string, number>>
  /** How long each batch took, in milliseconds. */
  readonly waits: readonly number[]
  readonly bytes: number
}

/** A client in a thread of its own, so that its work is not measured with the server's. */
export class FloodClient {
  readonly #thread: Worker
  readonly #over = new Int32Array(new SharedArrayBuffer(4))
  readonly result: Promise<FloodResult>

  constructor(options: FloodOptions) {
    this.#thread = new Worker(new URL(import.meta.url), { workerData: { options, over: this.#over } })
    this.result = once(this.#thread, 'message').then(([result]: FloodResult[]) => {
      if (!result) throw new Error('the client ended without a result')
      return result
    })
  }

  stop(): Promise<FloodResult> {
    Atomics.store(this.#over, 0, 1)
    return this.result
  }

  async end(): Promise<void> {
    await this.#thread.terminate()
  }
}

const answerHead = /HTTP\/1\.1 (\d{3}) /g
/** Enough to find the end of a head that was split between two chunks. */
const tailLength = 16

class Flood {
  readonly #options: FloodOptions
  readonly #codes: Record<string, number> = {}
  readonly #waits: number[] = []
  readonly #over: Int32Array
  #bytes = 0

  constructor({ options, over }: FloodOrder) {
    this.#options = options
    this.#over = over
  }

  async run(): Promise<FloodResult> {
    await Promise.all(Array.from({ length: this.#options.connections }, () => this.#keepAsking()))
    return { codes: this.#codes, waits: this.#waits, bytes: this.#bytes }
  }

  get #isOver(): boolean {
    return Atomics.load(this.#over, 0) === 1
  }

  async #keepAsking(): Promise<void> {
    const { port, ca, requests, times = Infinity } = this.#options
    const socket = connect({ port, host: '127.0.0.1', ca })
    await once(socket, 'secureConnect')
    // 'close' follows the error and is handled.
    socket.on('error', () => {})
    for (let time = 0; time < times && !this.#isOver && !socket.destroyed; time++) {
      const sentAt = performance.now()
      socket.write(requests.join(''))
      await this.#answers(socket, requests.length)
      this.#waits.push(performance.now() - sentAt)
    }
    socket.destroy()
  }

  /**
   * Counts answers by their heads, and reads the last one's body to its end: a chunked list ends with an empty chunk.
   */
  #answers(socket: TLSSocket, count: number): Promise<void> {
    let seen = 0
    let tail = ''
    return new Promise((resolve) => {
      const done = () => {
        socket.off('data', take)
        socket.off('close', done)
        resolve()
      }
      const take = (chunk: Buffer) => {
        this.#bytes += chunk.length
        const text = tail + chunk.toString('latin1')
        for (const [, code = ''] of text.matchAll(answerHead)) {
          this.#codes[code] = (this.#codes[code] ?? 0) + 1
          seen += 1
        }
        tail = text.slice(-tailLength).replaceAll(answerHead, '')
        if (seen >= count && (text.endsWith('}\n') || text.endsWith('\r\n0\r\n\r\n'))) done()
      }
      socket.on('data', take)
      socket.once('close', done)
    })
  }
}

if (!isMainThread && parentPort) {
  const order: FloodOrder = workerData
  parentPort.postMessage(await new Flood(order).run(), [])
}
