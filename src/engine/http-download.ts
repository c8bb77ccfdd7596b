import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '../foundation/clock.ts'

export interface DownloadOptions {
  readonly url: string
  readonly destination: string
  readonly expectedBytes: number
  /** Until the server answers, redirects included. */
  readonly connectDeadlineMs: number
  /** Between two pieces of the body. */
  readonly stallDeadlineMs: number
  readonly onBytes: (bytes: number) => void
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Fetches one file. Neither a server that does not answer nor one that falls silent can hold it up. */
export async function download(options: DownloadOptions): Promise<void> {
  const { clock, expectedBytes, onBytes } = options
  const overdue = new AbortController()
  let cancel = clock.after(options.connectDeadlineMs, () => {
    overdue.abort(new Error(`no answer within ${options.connectDeadlineMs / 1000} s`))
  })
  const rewind = () => {
    cancel()
    cancel = clock.after(options.stallDeadlineMs, () => {
      overdue.abort(new Error(`nothing came for ${options.stallDeadlineMs / 1000} s`))
    })
  }
  const signal = AbortSignal.any([options.signal, overdue.signal])
  try {
    const response = await fetch(options.url, { signal })
    if (!response.ok || !response.body) throw new Error(`the server answered ${response.status}`)
    rewind()
    let received = 0
    const counted = async function* (source: AsyncIterable<Uint8Array>) {
      for await (const chunk of source) {
        rewind()
        received += chunk.length
        if (received > expectedBytes) throw new Error(`more than the expected ${expectedBytes} bytes came`)
        onBytes(received)
        yield chunk
      }
    }
    await pipeline(response.body, counted, createWriteStream(options.destination), { signal })
    if (received !== expectedBytes) throw new Error(`${received} bytes came instead of ${expectedBytes}`)
  } catch (error) {
    if (overdue.signal.aborted) throw overdue.signal.reason
    throw innermost(error)
  } finally {
    cancel()
  }
}

/** fetch says "fetch failed"; the reason is in its cause. */
function innermost(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? innermost(error.cause) : error
}
