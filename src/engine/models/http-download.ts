import { open } from 'node:fs/promises'
import { type Clock, abortReason } from '../../foundation/clock.ts'
import { type KnownPart, discardPart, notePart, partAt } from './download-part.ts'

export interface DownloadOptions {
  readonly url: string
  /** Grows while the file comes; what an earlier attempt left there is continued. */
  readonly destination: string
  /** What is known of the finished file beforehand. */
  readonly expectedBytes: number | undefined
  /**
   * Whether the finished file will be checked: then a part may be continued even where the server cannot confirm it.
   */
  readonly verified: boolean
  /** Until the server answers, redirects included. */
  readonly connectDeadlineMs: number
  /** Between two pieces of the body. */
  readonly stallDeadlineMs: number
  readonly onBytes: (bytes: number, totalBytes: number) => void
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** How often a transfer that breaks off is continued at once. */
const mostContinuations = 5

/** Fetches one file. Neither a server that does not answer nor one that falls silent can hold it up. */
export async function download(options: DownloadOptions): Promise<void> {
  for (let continuations = 0; ; continuations++) {
    try {
      await attempt(options)
      return
    } catch (error) {
      if (options.signal.aborted) throw abortReason(options.signal)
      if (!(error instanceof BrokenTransfer) || continuations >= mostContinuations) throw error
    }
  }
}

/** The body ended before it was complete; what came is kept. */
class BrokenTransfer extends Error {}

async function attempt(options: DownloadOptions): Promise<void> {
  const { clock, destination } = options
  const overdue = new AbortController()
  let cancel = clock.after(options.connectDeadlineMs, () => {
    overdue.abort(new Error(`no answer within ${options.connectDeadlineMs / 1000} s`))
  })
  const rewind = () => {
    cancel()
    cancel = clock.after(options.stallDeadlineMs, () => {
      overdue.abort(new BrokenTransfer(`nothing came for ${options.stallDeadlineMs / 1000} s`))
    })
  }
  const signal = AbortSignal.any([options.signal, overdue.signal])
  try {
    const known = await partAt(destination, options.verified)
    const response = await fetch(options.url, { signal, headers: resumeHeaders(known) })
    rewind()
    const start = await startOf(response, known, destination)
    if (start === 'complete') return
    if (!response.body) throw new Error('the server answered without a body')
    const total = options.expectedBytes ?? totalOf(response, start)
    if (total !== undefined) options.onBytes(start, total)
    await notePart(destination, validatorOf(response))
    let received = start
    const file = await open(destination, start === 0 ? 'w' : 'a')
    try {
      for await (const chunk of piecesOf(response.body)) {
        rewind()
        received += chunk.length
        if (total !== undefined && received > total) throw new Error(`more than the expected ${total} bytes came`)
        // Each piece is in the file before the next is taken: whatever happens then, the part can be continued.
        await file.writeFile(chunk)
        options.onBytes(received, total ?? received)
      }
    } finally {
      await file.close()
    }
    if (total !== undefined && received !== total) {
      throw new BrokenTransfer(`${received} bytes came instead of ${total}`)
    }
  } catch (error) {
    if (overdue.signal.aborted) throw overdue.signal.reason
    throw innermost(error)
  } finally {
    cancel()
  }
}

function resumeHeaders(part: KnownPart | undefined): Record<string, string> {
  // A packed body would make the bytes of a range those of the packing.
  const plain = { 'accept-encoding': 'identity' }
  if (!part) return plain
  const condition: Record<string, string> = part.validator === undefined ? {} : { 'if-range': part.validator }
  return { ...plain, range: `bytes=${part.bytes}-`, ...condition }
}

/** Where the body that comes belongs in the file. */
async function startOf(
  response: Response,
  part: KnownPart | undefined,
  destination: string,
): Promise<number | 'complete'> {
  if (response.status === 206 && part) {
    const from = Number(/^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1] ?? Number.NaN)
    if (from === part.bytes) return from
    throw new Error('the server sent another part than it was asked for')
  }
  if (response.status === 416 && part) {
    const size = Number(/^bytes \*\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1] ?? Number.NaN)
    if (size === part.bytes) return 'complete'
    await discardPart(destination)
    throw new Error('the part that was there does not belong to the file; try again')
  }
  if (response.status !== 200) throw new Error(`the server answered ${response.status}`)
  return 0
}

function totalOf(response: Response, start: number): number | undefined {
  const length = response.headers.get('content-length')
  return length === null ? undefined : start + Number(length)
}

/** A weak ETag says "much the same", which is not enough to go on in the middle of a file. */
function validatorOf(response: Response): string | undefined {
  const etag = response.headers.get('etag')
  if (etag?.startsWith('"')) return etag
  return response.headers.get('last-modified') ?? undefined
}

async function* piecesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* body
  } catch (error) {
    throw new BrokenTransfer(innermost(error).message, { cause: error })
  }
}

/** fetch says "fetch failed"; the reason is in its cause. */
function innermost(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  if (error instanceof BrokenTransfer) return error
  return error.cause instanceof Error ? innermost(error.cause) : error
}
