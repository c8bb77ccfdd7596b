import type { Socket } from 'node:net'
import type { Clock } from '../../foundation/clock.ts'
import { Deadline } from '../socket/deadline.ts'

export interface TunnelOptions {
  readonly clock: Clock
  /** How long one direction may stay silent after the other has ended. */
  readonly halfOpenMs: number
  /** How long both may stay silent: at least this, at most twice as long; without it for ever. */
  readonly idleMs?: number
  /** Bytes read from each side before the tunnel was there. */
  readonly fromClient: readonly Buffer[]
  readonly fromUpstream: Buffer
}

export interface TunnelResult {
  readonly requestBytes: number
  readonly responseBytes: number
}

/** Raw bytes both ways until both ends have said goodbye or one of them is gone. */
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
        // A side that closed after a clean end lets the other one flush what it still holds.
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
    // Either may have gone while the tunnel was being laid; its `close` is then past.
    if (client.destroyed || upstream.destroyed) {
      destroyBoth()
      deadline.dispose()
      idle.dispose()
      resolve({ requestBytes: 0, responseBytes: 0 })
    }
  })
}
