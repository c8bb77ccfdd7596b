import type { Duplex, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { errorMessage } from '../../foundation/errors.ts'

export interface ForwardedConnection {
  readonly pod: string
  readonly uid: string
  readonly port: number
  readonly data: Duplex
  /** Receives the error message, after which both are over. */
  readonly error: Writable
  readonly connect: () => Promise<Duplex>
}

/** Moves bytes between a client and a port of a Pod until both are done, or one of them broke off. */
export async function forwardConnection({ pod, uid, port, data, error, connect }: ForwardedConnection): Promise<void> {
  try {
    const target = await connect()
    // When one side breaks off, so does the other.
    const broken = new Promise<never>((_, reject) => {
      data.once('close', () => {
        if (!data.readableEnded || !data.writableFinished) target.destroy()
      })
      target.once('error', reject)
    })
    data.pipe(target)
    target.pipe(data)
    try {
      await Promise.race([Promise.all([finished(target).catch(quiet), finished(data).catch(quiet)]), broken])
    } finally {
      target.destroy()
    }
  } catch (failure) {
    if (!error.destroyed)
      error.write(`error forwarding port ${port} to pod ${pod}, uid ${uid}: ${errorMessage(failure)}`)
  } finally {
    if (!error.destroyed) error.end()
    // The end is sent before the stream is destroyed; unread data must not hold up the other connections.
    if (!data.destroyed) data.end(() => data.destroy())
  }
}

function quiet(): void {}
