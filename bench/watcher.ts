import { connect } from 'node:tls'
import type { Target } from './http-client.ts'

export interface Watcher {
  /** Resolves when this many events have arrived. */
  until(count: number): Promise<void>
  close(): void
}

/** Counts the events of one watch without reading them. */
export function openWatcher(target: Target, path: string): Promise<Watcher> {
  const { host, port, ca, base, token } = target
  return new Promise((resolve, reject) => {
    let events = 0
    let wanted = Number.POSITIVE_INFINITY
    let wake = () => {}
    const socket = connect({ host, port, ca, ALPNProtocols: ['http/1.1'] }, () => {
      socket.write(
        `GET ${base}${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\naccept: application/json\r\n\r\n`,
      )
    })
    const watcher: Watcher = {
      async until(count) {
        if (events >= count) return
        wanted = count
        await new Promise<void>((done) => (wake = done))
      },
      close: () => void socket.destroy(),
    }
    socket.on('error', reject)
    socket.once('data', (head) => {
      const refused = !head.toString('latin1').startsWith('HTTP/1.1 200')
      if (refused) return reject(new Error(head.toString('latin1', 0, 300)))
      events += count(head)
      socket.on('data', (chunk) => {
        events += count(chunk)
        if (events >= wanted) wake()
      })
      resolve(watcher)
    })
  })
}

const mark = Buffer.from('{"type":"ADDED"')

/** The events that begin in a chunk. One whose mark is split between two chunks is not counted. */
function count(chunk: Buffer): number {
  let found = 0
  for (let at = chunk.indexOf(mark); at >= 0; at = chunk.indexOf(mark, at + mark.length)) found += 1
  return found
}
