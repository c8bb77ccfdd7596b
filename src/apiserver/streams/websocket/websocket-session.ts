import type { Duplex, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { Clock } from '../../../foundation/clock.ts'
import { type ChannelProtocol, ChannelStreams } from '../channel-streams.ts'
import { IdleTimer } from '../idle-timer.ts'
import type { RemoteSession, WantedStreams } from '../remote-session.ts'
import { terminalSizes } from '../terminal-sizes.ts'
import { WebSocketConnection } from './websocket-connection.ts'

const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4 } as const

/** A client that speaks `v5.channel.k8s.io` or an older version. */
export function webSocketSession(
  socket: Duplex,
  protocol: ChannelProtocol,
  wanted: WantedStreams,
  { clock, idleMs }: { readonly clock: Clock; readonly idleMs: number },
): RemoteSession {
  const connection = new WebSocketConnection(socket, clock)
  const idle = new IdleTimer(clock, idleMs, () => {
    connection.hangUp(1001, `nothing was said for ${Math.round(idleMs / 1000)} seconds`)
  })
  const all = new ChannelStreams(connection, protocol, () => idle.touch())
  const streams = {
    stdin: wanted.stdin ? all.input(channels.stdin) : undefined,
    stdout: wanted.stdout ? all.output(channels.stdout) : undefined,
    stderr: wanted.stderr ? all.output(channels.stderr) : undefined,
    terminal: wanted.tty ? terminalSizes(all.input(channels.resize)) : undefined,
  }
  // An empty message tells the client that it is connected.
  const first = wanted.stdout ? channels.stdout : wanted.stderr ? channels.stderr : channels.status
  all.send(first, Buffer.alloc(0))
  const closed = all.receive().finally(() => idle.stop())
  return {
    streams,
    left: connection.left,
    closed,
    async sendStatus(status) {
      await Promise.all([flush(streams.stdout), flush(streams.stderr)])
      // Nobody reads what the client still sends.
      streams.stdin?.destroy()
      const told = protocol.startsWith('v') ? JSON.stringify(status) : failureIn(status)
      if (told !== undefined) all.send(channels.status, Buffer.from(told))
    },
    close: (code, reason) => connection.close(code, reason),
    destroy: () => connection.destroy(),
  }
}

/** What clients from before the status channel are told: nothing, unless the command failed. */
function failureIn(status: unknown): string | undefined {
  if (typeof status !== 'object' || status === null || !('message' in status)) return undefined
  return typeof status.message === 'string' ? status.message : undefined
}

async function flush(stream: Writable | undefined): Promise<void> {
  if (!stream || stream.destroyed) return
  stream.end()
  await finished(stream, { readable: false }).catch(() => {})
}
