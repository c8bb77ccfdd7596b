import type { Socket } from 'node:net'
import type { Clock } from '../../foundation/clock.ts'
import { Deadline } from '../socket/deadline.ts'

export interface TunnelOptions {
  readonly clock: Clock
  /** How long one direction may stay silent after the other has ended. */
  readonly halfOpenMs: number
  /** Cut when both sides were silent for this long (up to twice as long); without it, never. */
  readonly idleMs?: number
  /** Bytes that were read from each side before the tunnel began. */
  readonly fromClient: readonly Buffer[]
  readonly fromUpstream: Buffer
}

export interface TunnelResult {
  readonly requestBytes: number
  readonly responseBytes: number
}

/** Passes raw bytes both ways until both sides have ended or one is gone. */
export function tunnel(client: Socket, upstream: Socket, options: TunnelOptions): Promise<TunnelResult> {
  const deadline = new Deadline(options.clock)
  const idle = new Deadline(options.clock)
  const clientBefore = client.bytesWritten
  const upstreamBefore = upstream.bytesWritten
  return new Promise((resolve) => {
    let closed = 0
    const destroyBoth = () => {
      client.destroy()
      upstream.destroy()
    }
    const watchIdle = (idleMs: number, before: number) => {
      const moved = client.bytesRead + upstream.bytesRead
      if (moved === before) destroyBoth()
      else idle.set(idleMs, () => watchIdle(idleMs, moved))
    }
    const connect = (from: Socket, to: Socket) => {
      from.setKeepAlive(true, 60_000)
      from.on('error', destroyBoth)
      from.once('end', () => {
        if (from.readableEnded && to.readableEnded) return
        deadline.set(options.halfOpenMs, destroyBoth)
        to.on('data', () => deadline.set(options.halfOpenMs, destroyBoth))
      })
      from.once('close', () => {
        closed++
        // If a side closed after a clean end, the other may still send what it holds.
        if (!from.readableEnded || from.errored) destroyBoth()
        if (closed < 2) return
        deadline.dispose()
        idle.dispose()
        resolve({
          requestBytes: upstream.bytesWritten - upstreamBefore,
          responseBytes: client.bytesWritten - clientBefore,
        })
      })
      from.pipe(to)
    }
    for (const piece of options.fromClient) upstream.write(piece)
    if (options.fromUpstream.length > 0) client.write(options.fromUpstream)
    connect(client, upstream)
    connect(upstream, client)
    if (options.idleMs !== undefined) watchIdle(options.idleMs, -1)
    // Either side may have closed while the tunnel was set up, before anybody listened.
    if (client.destroyed || upstream.destroyed) {
      destroyBoth()
      deadline.dispose()
      idle.dispose()
      resolve({ requestBytes: 0, responseBytes: 0 })
    }
  })
}
