import type { Duplex } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { Clock } from '../../../foundation/clock.ts'
import type { FedStream } from '../fed-stream.ts'
import { IdleTimer } from '../idle-timer.ts'
import type { RemoteSession, WantedStreams } from '../remote-session.ts'
import { SpdyConnection } from './spdy-connection.ts'
import { terminalSizes } from '../terminal-sizes.ts'

type StreamName = 'error' | 'stdin' | 'stdout' | 'stderr' | 'resize'

const names = new Set<string>(['error', 'stdin', 'stdout', 'stderr', 'resize'])

/** How long a client may take to open the streams it asked for. */
const openingMs = 30_000

/** A client that speaks SPDY/3.1 with `v4.channel.k8s.io`: kubectl before 1.31, and programs built on its libraries. */
export async function spdySession(
  socket: Duplex,
  wanted: WantedStreams,
  { clock, idleMs }: { readonly clock: Clock; readonly idleMs: number },
): Promise<RemoteSession | undefined> {
  const opened = new Map<StreamName, FedStream>()
  const expected: readonly StreamName[] = [
    'error',
    ...(['stdin', 'stdout', 'stderr'] as const).filter((name) => wanted[name]),
    ...(wanted.tty ? (['resize'] as const) : []),
  ]
  const complete = Promise.withResolvers<boolean>()
  const idle = new IdleTimer(clock, idleMs, () => connection.destroy())
  const connection = new SpdyConnection(socket, {
    clock,
    touch: () => idle.touch(),
    accept: (stream, headers) => {
      const name = headers.get('streamtype') ?? ''
      if (!isStreamName(name) || !expected.includes(name) || opened.has(name)) return false
      opened.set(name, stream)
      // Whatever a client sends on an output stream is discarded.
      if (name !== 'stdin' && name !== 'resize') stream.resume()
      if (opened.size === expected.length) complete.resolve(true)
      return true
    },
  })
  const cancel = clock.after(openingMs, () => complete.resolve(false))
  const closed = connection.receive().finally(() => {
    idle.stop()
    complete.resolve(false)
  })
  const isComplete = await complete.promise
  cancel()
  if (!isComplete) {
    connection.destroy()
    await closed
    return undefined
  }
  const resize = opened.get('resize')
  const outputs = [opened.get('stdout'), opened.get('stderr'), opened.get('error')]
  return {
    streams: {
      stdin: opened.get('stdin'),
      stdout: opened.get('stdout'),
      stderr: opened.get('stderr'),
      terminal: resize && terminalSizes(resize),
    },
    left: connection.left,
    closed,
    async sendStatus(status) {
      const [stdout, stderr, error] = outputs
      await Promise.all([flush(stdout), flush(stderr)])
      error?.write(JSON.stringify(status))
      await flush(error)
    },
    close: () => connection.close(),
    destroy: () => connection.destroy(),
  }
}

function isStreamName(name: string): name is StreamName {
  return names.has(name)
}

async function flush(stream: FedStream | undefined): Promise<void> {
  if (!stream || stream.destroyed) return
  stream.end()
  await finished(stream, { readable: false }).catch(() => {})
}
