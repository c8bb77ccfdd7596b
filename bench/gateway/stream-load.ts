import { connect } from 'node:net'
import { requestBytes } from './chat-request.ts'
import type { Peer } from './peers.ts'

export interface StreamResult {
  readonly chunks: number
  readonly failed: number
  /** Milliseconds from the stub's write to this program's read, in the order of reading. */
  readonly delays: readonly number[]
}

/** Opens many event streams at once; `whileOpen` is called in the middle. */
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
      // Not all at the same instant, because the listen queue is bounded.
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
  return { chunks, failed, delays }
}
