import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'

/** How many turns of the event loop bytes may lie there before it is clear that nobody wants them. */
const quietTurns = 50
const mostTurns = 100_000

/**
 * Resolves when the other end of a connection, in this process, has stopped reading: bytes lie in its receive queue in
 * the kernel, the event loop turned again and again, and none was taken. `progress`: how far the writer has come, which
 * has to stand still, too.
 */
export async function untilLeftUnread(writer: Socket, progress: () => number): Promise<void> {
  let last = ''
  for (let quiet = 0, turns = 0; quiet < quietTurns; turns++) {
    if (turns > mostTurns) throw new Error(`what was written is still being read: ${last}`)
    await new Promise((resolve) => setImmediate(resolve))
    const unread = unreadBytes(writer)
    const state = `${unread} unread of ${progress()}`
    quiet = unread > 0 && state === last ? quiet + 1 : 0
    last = state
  }
}

/** What the kernel holds for the reader of a connection over 127.0.0.1, as /proc/net/tcp has it. */
function unreadBytes({ localPort = 0, remotePort = 0 }: Socket): number {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0')
  const connection = new RegExp(`: 0100007F:${hex(remotePort)} 0100007F:${hex(localPort)} \\w+ \\w+:(\\w+) `)
  return Number.parseInt(connection.exec(readFileSync('/proc/net/tcp', 'latin1'))?.[1] ?? '0', 16)
}
