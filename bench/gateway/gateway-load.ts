import { type Socket, connect } from 'node:net'
import type { Peer } from './peers.ts'

const chatBody = (stream: boolean, model = 'bench') =>
  JSON.stringify({
    model,
    messages: [{ role: 'user', content: 'Say hello to the people who read this benchmark, please, and nothing more.' }],
    max_tokens: 16,
    temperature: 0.7,
    ...(stream && { stream: true }),
  })

export function requestBytes(peer: Peer, options: { events?: number; model?: string } = {}): Buffer {
  const body = chatBody(options.events !== undefined, options.model)
  const events = options.events === undefined ? '' : `x-bench-events: ${options.events}\r\n`
  return Buffer.from(
    `POST ${peer.path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\naccept: */*\r\nuser-agent: bench\r\n` +
      `${peer.headers}${events}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

export interface LoadResult {
  readonly answers: number
  readonly errors: number
  readonly seconds: number
  /** Milliseconds, sorted. */
  readonly latencies: Float64Array
}

/**
 * As many connections as asked, each with one request at a time. `perSecond` holds back to that rate in all; without it,
 * the next request follows the answer.
 */
export async function load(
  peer: Peer,
  options: { connections: number; seconds: number; perSecond?: number; models?: number },
): Promise<LoadResult> {
  const { connections, seconds, perSecond } = options
  const latencies: number[] = []
  let [errors, over] = [0, false]
  const requests = Array.from({ length: options.models ?? 1 }, (_, index) =>
    requestBytes(peer, { model: index === 0 ? 'bench' : `bench-${index}` }),
  )
  let turn = 0
  const clients = await Promise.all(Array.from({ length: connections }, () => openConnection(peer.port)))
  const idle: AnswerReader[] = []
  const ask = (client: AnswerReader) => {
    const startedAt = performance.now()
    client.send(requests[turn++ % requests.length] ?? Buffer.alloc(0), (ok) => {
      if (ok) latencies.push(performance.now() - startedAt)
      else errors++
      if (over) return
      if (perSecond === undefined && ok) ask(client)
      else if (ok) idle.push(client)
    })
  }
  const startedAt = performance.now()
  let ticking: NodeJS.Timeout | undefined
  if (perSecond === undefined) for (const client of clients) ask(client)
  else {
    idle.push(...clients)
    let sent = 0
    ticking = setInterval(() => {
      const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond)
      for (; sent < due; sent++) {
        const client = idle.shift()
        if (client) ask(client)
      }
    }, 1)
  }
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  over = true
  clearInterval(ticking)
  const elapsed = (performance.now() - startedAt) / 1000
  for (const client of clients) client.close()
  return { answers: latencies.length, errors, seconds: elapsed, latencies: Float64Array.from(latencies).sort() }
}

/** Reads answers with a length or in chunks; counts no more than it must. */
class AnswerReader {
  readonly #socket: Socket
  #done: ((ok: boolean) => void) | undefined
  #left = -1
  #held: Buffer | undefined

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('close', () => this.#finish(false))
    socket.on('error', () => {})
  }

  send(request: Buffer, done: (ok: boolean) => void): void {
    this.#done = done
    this.#left = -1
    this.#socket.write(request)
  }

  close(): void {
    this.#done = undefined
    this.#socket.destroy()
  }

  #take(piece: Buffer): void {
    const chunk = this.#held ? Buffer.concat([this.#held, piece]) : piece
    this.#held = undefined
    if (this.#left < 0) {
      const end = chunk.indexOf('\r\n\r\n')
      if (end < 0) {
        this.#held = chunk
        return
      }
      const head = chunk.toString('latin1', 0, end)
      const length = /content-length: *(\d+)/i.exec(head)?.[1]
      if (!head.startsWith('HTTP/1.1 200')) return this.#finish(false)
      if (length === undefined) {
        if (chunk.subarray(-5).toString('latin1') === '0\r\n\r\n') this.#finish(true)
        else this.#held = chunk
        return
      }
      this.#left = Number(length) - (chunk.length - end - 4)
    } else this.#left -= chunk.length
    if (this.#left <= 0) this.#finish(true)
  }

  #finish(ok: boolean): void {
    const done = this.#done
    this.#done = undefined
    done?.(ok)
  }
}

function openConnection(port: number): Promise<AnswerReader> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => {
      socket.off('error', reject)
      resolve(new AnswerReader(socket))
    })
    socket.once('error', reject)
  })
}

export interface StreamResult {
  readonly chunks: number
  readonly failed: number
  /** Milliseconds from the stub's write to this program's read, sorted. */
  readonly delays: Float64Array
}

/** Many event streams at once; `whileOpen` is called in their middle. */
export async function loadStreams(
  peer: Peer,
  options: { streams: number; events: number; whileOpen?: () => void },
): Promise<StreamResult> {
  const { streams, events, whileOpen } = options
  const request = requestBytes(peer, { events })
  const delays: number[] = []
  let [chunks, failed, half] = [0, 0, false]
  await Promise.all(
    Array.from({ length: streams }, async (_, index) => {
      // Not all in one instant: the listen queue has a bound.
      await new Promise((resolve) => setTimeout(resolve, (index / streams) * 1000))
      return new Promise<void>((resolve) => {
        const socket = connect({ port: peer.port, host: '127.0.0.1', noDelay: true }, () => socket.write(request))
        let complete = false
        const overdue = setTimeout(() => socket.destroy(), 30_000 + events * 100)
        socket.on('data', (chunk: Buffer) => {
          const text = chunk.toString('latin1')
          for (let at = text.indexOf('token '); at >= 0; at = text.indexOf('token ', at + 1)) {
            chunks++
            const sentAt = Number.parseFloat(text.slice(at + 6, at + 26))
            if (index % 16 === 0) delays.push(performance.timeOrigin + performance.now() - sentAt)
          }
          if (!half && chunks > (streams * events) / 2) {
            half = true
            whileOpen?.()
          }
          if (text.includes('[DONE]')) {
            complete = true
            socket.destroy()
          }
        })
        socket.on('error', () => {})
        socket.on('close', () => {
          clearTimeout(overdue)
          if (!complete) failed++
          resolve()
        })
      })
    }),
  )
  return { chunks, failed, delays: Float64Array.from(delays).sort() }
}

export function percentile(sorted: Float64Array, of: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * of))] ?? Number.NaN
}
