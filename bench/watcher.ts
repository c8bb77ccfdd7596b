import { connect } from 'node:tls'
import type { Target } from './http-client.ts'
import { MarkCounter } from './mark-counter.ts'

export interface Watcher {
  /** Resolves when this many events have arrived. */
  until(count: number): Promise<void>
  close(): void
}

/** Counts the events of one watch without reading them. */
export function openWatcher(target: Target, path: string): Promise<Watcher> {
  const { host, port, ca, base, token } = target
  return new Promise((resolve, reject) => {
    const events = new MarkCounter('{"type":"ADDED"')
    let wanted = Number.POSITIVE_INFINITY
    let wake = () => {}
    const socket = connect({ host, port, ca, ALPNProtocols: ['http/1.1'] }, () => {
      socket.write(
        `GET ${base}${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\naccept: application/json\r\n\r\n`,
      )
    })
    const watcher: Watcher = {
      async until(count) {
        if (events.count >= count) return
        wanted = count
        await new Promise<void>((done) => (wake = done))
      },
      close: () => void socket.destroy(),
    }
    socket.on('error', reject)
    socket.once('data', (first) => {
      const headEnd = first.indexOf('\r\n\r\n')
      const head = first.toString('latin1', 0, headEnd < 0 ? 300 : headEnd)
      const isChunked = /\r\ntransfer-encoding: chunked/i.test(head)
      if (headEnd < 0 || !head.startsWith('HTTP/1.1 200') || !isChunked) return reject(new Error(head))
      events.add(first.subarray(headEnd + 4))
      socket.on('data', (piece) => {
        events.add(piece)
        if (events.count >= wanted) wake()
      })
      resolve(watcher)
    })
  })
}
