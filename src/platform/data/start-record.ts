import { z } from 'zod'
import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { DataDirectory } from './data-directory.ts'

/** A file in the data directory that counts how many starts in a row have crashed. */
export const startRecordFile = 'starts.json'

/** After this many crashed starts, the next one is in safe mode. */
export const crashesBeforeSafeMode = 2

/** A start has succeeded once everything has been up, with the event loop turning on time, for this long. */
const settleMs = 10_000
const beatMs = 500
/** A timer that is later than this shows that the loop was blocked. A start that keeps it blocked never succeeds. */
const lateMs = 1_000

const recordSchema = z.object({
  crashes: z.int().min(0),
  begunAt: z.string().optional(),
  version: z.string().optional(),
})

export type StartRecordContent = z.infer<typeof recordSchema>

/** A file that is missing or cannot be read counts as no crash. */
export function parseStartRecord(text: string | undefined): StartRecordContent {
  try {
    return recordSchema.parse(JSON.parse(text ?? ''))
  } catch {
    return { crashes: 0 }
  }
}

/**
 * Counts, in the data directory, the starts that ended before they had succeeded, for whatever reason. An orderly stop
 * and a successful start both reset the count. So if something in the directory makes every start crash, the next start
 * can tell.
 */
export class StartRecord implements Component {
  readonly name = 'start record'
  /** How many starts in a row crashed before this one. */
  readonly crashes: number
  readonly #directory: DataDirectory
  readonly #clock: Clock
  #cancel = () => {}

  constructor(directory: DataDirectory, clock: Clock, version: string) {
    this.#directory = directory
    this.#clock = clock
    this.crashes = parseStartRecord(directory.read(startRecordFile)).crashes
    // Recorded first: this start counts as crashed until it has succeeded.
    const begunAt = new Date(clock.now()).toISOString()
    this.#write({ crashes: this.crashes + 1, begunAt, version })
  }

  /** Everything is up. From now on the loop must keep turning. */
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
