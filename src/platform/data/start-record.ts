import { z } from 'zod'
import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { DataDirectory } from './data-directory.ts'

/** Of the data directory: how many starts in a row did not come to rest. */
export const startRecordFile = 'starts.json'

/** After so many starts that crashed, the next one is careful. */
export const crashesBeforeSafeMode = 2

/** A start is over when the loop has turned on time for so long after everything was up. */
const settleMs = 10_000
const beatMs = 500
/** A beat that comes later than this says that the loop was busy: a start that runs away never settles. */
const lateMs = 1_000

const recordSchema = z.object({
  crashes: z.int().min(0),
  begunAt: z.string().optional(),
  version: z.string().optional(),
})

export type StartRecordContent = z.infer<typeof recordSchema>

/** What the file says; one that is not there, or cannot be read, says that all was well. */
export function parseStartRecord(text: string | undefined): StartRecordContent {
  try {
    return recordSchema.parse(JSON.parse(text ?? ''))
  } catch {
    return { crashes: 0 }
  }
}

/**
 * Counts, in the data directory, the starts that ended before they came to rest, whatever ended them: an orderly stop
 * and a start that settled both clear the count. That is how a directory that kills every start is noticed by the next
 * one.
 */
export class StartRecord implements Component {
  readonly name = 'start record'
  /** Starts in a row, before this one, that crashed. */
  readonly crashes: number
  readonly #directory: DataDirectory
  readonly #clock: Clock
  #cancel = () => {}

  constructor(directory: DataDirectory, clock: Clock, version: string) {
    this.#directory = directory
    this.#clock = clock
    this.crashes = parseStartRecord(directory.read(startRecordFile)).crashes
    // What follows may crash: it counts as crashed until it is known to be well.
    const begunAt = new Date(clock.now()).toISOString()
    this.#write({ crashes: this.crashes + 1, begunAt, version })
  }

  /** Everything is up: from here on the loop must show that it turns. */
  start(): void {
    this.#await(this.#clock.now() + settleMs)
  }

  stop(): void {
    this.#cancel()
    this.#directory.remove(startRecordFile)
  }

  #await(settledAt: number): void {
    const dueAt = this.#clock.now() + beatMs
    this.#cancel = this.#clock.after(beatMs, () => {
      const now = this.#clock.now()
      if (now - dueAt > lateMs) this.#await(now + settleMs)
      else if (now < settledAt) this.#await(settledAt)
      else this.#directory.remove(startRecordFile)
    })
  }

  #write(content: StartRecordContent): void {
    this.#directory.write(startRecordFile, `${JSON.stringify(content)}\n`)
  }
}
