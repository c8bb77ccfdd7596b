import { open } from 'node:fs/promises'
import { type Clock, abortReason } from '../../foundation/clock.ts'
import { type KnownPart, discardPart, notePart, partAt } from './download-part.ts'

export interface DownloadOptions {
  readonly url: string
  /** Where the file grows while it is downloaded. A part that an earlier attempt left there is continued. */
  readonly destination: string
  /** The size of the finished file, if it is known. */
  readonly expectedBytes: number | undefined
  /**
   * Whether the checksum of the finished file will be checked. Then a part may be continued even if the server cannot
   * confirm it.
   */
  readonly verified: boolean
  /** How long the server may take to answer, including redirects. */
  readonly connectDeadlineMs: number
  /** How long it may take between two pieces of the body. */
  readonly stallDeadlineMs: number
  readonly onBytes: (bytes: number, totalBytes: number) => void
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** How often a transfer that breaks off is continued at once. */
const mostContinuations = 5

/** Downloads one file. Gives up on a server that does not answer or falls silent. */
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

/** The body ended before it was complete; what has arrived is kept. */
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
        // Each piece is written before the next is read, so that the part can be continued whatever happens.
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
  // Ask for no compression: a range would count the bytes of the compressed body.
  const plain = { 'accept-encoding': 'identity' }
  if (!part) return plain
  const condition: Record<string, string> = part.validator === undefined ? {} : { 'if-range': part.validator }
  return { ...plain, range: `bytes=${part.bytes}-`, ...condition }
}

/** The position in the file at which the body of the response begins. */
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

/**
 * A strong ETag or the date. A weak ETag only means "equivalent", which is not enough to continue in the middle of a
 * file.
 */
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

/** The error at the end of the chain of causes: fetch itself only says "fetch failed". */
function innermost(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  if (error instanceof BrokenTransfer) return error
  return error.cause instanceof Error ? innermost(error.cause) : error
}
