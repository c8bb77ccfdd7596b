import { type Socket, connect } from 'node:net'
import { modelName } from './bench-models.ts'
import { requestBytes } from './chat-request.ts'
import type { Peer } from './peers.ts'

export interface LoadShape {
  readonly connections: number
  readonly seconds: number
  /** The requests go to this many models in turn; 1 unless set. */
  readonly models?: number
}

export interface Answered {
  readonly answers: number
  readonly errors: number
  readonly seconds: number
}

/** Opens as many connections as asked, each with one request at a time: the next follows the answer. */
export async function loadByNode(peer: Peer, shape: LoadShape): Promise<Answered> {
  let [answers, errors, over, turn] = [0, 0, false, 0]
  const requests = Array.from({ length: shape.models ?? 1 }, (_, index) =>
    requestBytes(peer, { model: modelName(index) }),
  )
  const clients = await openConnections(peer.port, shape.connections)
  const ask = (client: AnswerReader) => {
    client.send(requests[turn++ % requests.length] ?? Buffer.alloc(0), (ok) => {
      if (ok) answers++
      else errors++
      if (ok && !over) ask(client)
    })
  }
  const startedAt = performance.now()
  for (const client of clients) ask(client)
  await new Promise((resolve) => setTimeout(resolve, shape.seconds * 1000))
  over = true
  const seconds = (performance.now() - startedAt) / 1000
  for (const client of clients) client.close()
  return { answers, errors, seconds }
}

/** The latencies of answered requests in milliseconds, sorted. */
export interface Latencies {
  readonly latencies: Float64Array
  readonly unanswered: number
}

/**
 * Sends requests at a fixed rate, whether or not earlier ones are answered. If no connection is free, a request waits
 * for one, and the wait counts.
 */
export async function loadAtRate(
  peer: Peer,
  options: { connections: number; seconds: number; perSecond: number },
): Promise<Latencies> {
  const { connections, seconds, perSecond } = options
  const request = requestBytes(peer)
  const latencies: number[] = []
  const idle = await openConnections(peer.port, connections)
  const clients = [...idle]
  const due: number[] = []
  let [sent, over] = [0, false]
  const ask = (client: AnswerReader, dueAt: number) => {
    client.send(request, (ok) => {
      if (over) return
      if (!ok) return
      latencies.push(performance.now() - dueAt)
      const next = due.shift()
      if (next === undefined) idle.push(client)
      else ask(client, next)
    })
  }
  const startedAt = performance.now()
  const ticking = setInterval(() => {
    const now = performance.now()
    for (const wanted = Math.floor(((now - startedAt) / 1000) * perSecond); sent < wanted; sent++) {
      const client = idle.shift()
      if (client) ask(client, performance.now())
      else due.push(now)
    }
  }, 1)
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  clearInterval(ticking)
  // Gives the last requests a moment to be answered before they count as unanswered.
  await new Promise((resolve) => setTimeout(resolve, 200))
  over = true
  for (const client of clients) client.close()
  return { latencies: Float64Array.from(latencies).sort(), unanswered: sent - latencies.length }
}

/** Reads answers with a length or in chunks, and counts no more than necessary. */
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

function openConnections(port: number, count: number): Promise<AnswerReader[]> {
  return Promise.all(Array.from({ length: count }, () => openConnection(port)))
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
