import { Worker } from 'node:worker_threads'
import { StatusError } from '../../resources/status-error.ts'
import { mostValues as usualValues, tooManyValues } from './body-values.ts'
import { badYaml } from './yaml-refusal.ts'
import type { ParsedText } from './yaml-text.ts'

export interface YamlTask {
  readonly text: string
  /** Values with more fields and items are refused in the thread: handing them over takes long, too. */
  readonly mostValues: number
}

export interface YamlAnswer {
  readonly parsed?: ParsedText
  readonly refused?: string
  readonly tooMany?: boolean
}

export interface YamlWait {
  readonly mostValues?: number | undefined
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal | undefined
}

/** The program beside this file, compiled or not. */
const program = new URL(`yaml-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)
const deadlineMs = 10_000
const mostMemoryMb = 256
const mostWaiting = 16

/**
 * Reads long texts in a thread of their own, one after the other, because YAML is slow to read, some of it out of all
 * proportion to its size. A text that takes too long or too much memory is refused; one that nobody waits for any more
 * is dropped, even half-way.
 */
export class LargeYaml {
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  get waiting(): number {
    return this.#waiting
  }

  async parse(text: string, { mostValues = usualValues, signal }: YamlWait = {}): Promise<ParsedText> {
    if (this.#waiting >= mostWaiting) {
      const details = { retryAfterSeconds: 1 }
      throw new StatusError('TooManyRequests', 'too many large bodies in YAML at a time; JSON need not wait', details)
    }
    this.#waiting += 1
    try {
      return await unlessAborted(signal, (given) => {
        const turn = this.#last.then(() => (given.aborted ? undefined : parseApart({ text, mostValues }, given)))
        this.#last = turn.catch(() => {})
        return turn
      })
    } finally {
      this.#waiting -= 1
    }
  }
}

/** Rejects as soon as the signal is aborted, whatever becomes of the work. */
async function unlessAborted(
  signal: AbortSignal | undefined,
  begin: (signal: AbortSignal) => Promise<ParsedText | undefined>,
): Promise<ParsedText> {
  const given = signal ?? new AbortController().signal
  if (given.aborted) throw nobodyWaits()
  let leave = () => {}
  const left = new Promise<undefined>((resolve) => {
    leave = () => resolve(undefined)
    given.addEventListener('abort', leave, { once: true })
  })
  try {
    const parsed = await Promise.race([begin(given), left])
    if (parsed) return parsed
    throw nobodyWaits()
  } finally {
    given.removeEventListener('abort', leave)
  }
}

function nobodyWaits(): StatusError {
  const why = 'the server is stopping, or the client has left'
  return new StatusError('ServiceUnavailable', why, { retryAfterSeconds: 1 })
}

async function parseApart(task: YamlTask, signal: AbortSignal): Promise<ParsedText> {
  const tooMuch = badYaml('the manifest takes too long to read; send it as JSON')
  const resourceLimits = { maxOldGenerationSizeMb: mostMemoryMb }
  const thread = new Worker(program, { workerData: task, resourceLimits, name: 'yaml' })
  const end = () => void thread.terminate()
  const overdue = setTimeout(end, deadlineMs)
  signal.addEventListener('abort', end, { once: true })
  try {
    const { parsed, refused, tooMany } = await new Promise<YamlAnswer>((resolve, reject) => {
      thread.once('message', (message: YamlAnswer) => resolve(message))
      // The thread running out of memory is an error, being stopped for time an exit.
      thread.once('error', () => reject(tooMuch))
      thread.once('exit', () => reject(tooMuch))
    })
    if (parsed) return parsed
    throw tooMany ? tooManyValues(task.mostValues) : new StatusError('BadRequest', refused ?? tooMuch.message)
  } finally {
    clearTimeout(overdue)
    signal.removeEventListener('abort', end)
    await thread.terminate()
  }
}
