import { Worker } from 'node:worker_threads'
import { StatusError } from '../../resources/status-error.ts'
import { badYaml } from './yaml-refusal.ts'
import type { ParsedText } from './yaml-text.ts'

/** What the thread says. */
export interface YamlAnswer {
  readonly parsed?: ParsedText
  readonly refused?: string
}

/** Beside this file, compiled or not. */
const program = new URL(`yaml-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)
const deadlineMs = 10_000
const mostMemoryMb = 256
const mostWaiting = 16

/**
 * Reads texts that take long in a thread of their own, one after the other: YAML is slow to read, some of it far beyond its
 * size, and nobody else is to wait for it. A text that takes too long or too much memory is refused.
 */
export class LargeYaml {
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  async parse(text: string): Promise<ParsedText> {
    if (this.#waiting >= mostWaiting) {
      const details = { retryAfterSeconds: 1 }
      throw new StatusError('TooManyRequests', 'too many large bodies in YAML at a time; JSON need not wait', details)
    }
    this.#waiting += 1
    const turn = this.#last.then(() => parseApart(text))
    this.#last = turn.catch(() => {})
    try {
      return await turn
    } finally {
      this.#waiting -= 1
    }
  }
}

async function parseApart(text: string): Promise<ParsedText> {
  const tooMuch = badYaml('the manifest takes too long to read; send it as JSON')
  const resourceLimits = { maxOldGenerationSizeMb: mostMemoryMb }
  const thread = new Worker(program, { workerData: text, resourceLimits, name: 'yaml' })
  const overdue = setTimeout(() => void thread.terminate(), deadlineMs)
  try {
    const { parsed, refused } = await new Promise<YamlAnswer>((resolve, reject) => {
      thread.once('message', (message: YamlAnswer) => resolve(message))
      // Out of memory is an error, out of time an exit.
      thread.once('error', () => reject(tooMuch))
      thread.once('exit', () => reject(tooMuch))
    })
    if (parsed) return parsed
    throw new StatusError('BadRequest', refused ?? tooMuch.message)
  } finally {
    clearTimeout(overdue)
    await thread.terminate()
  }
}
