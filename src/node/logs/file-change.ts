import { type FSWatcher, watch } from 'node:fs'
import type { CancelTimer, Clock } from '../../foundation/clock.ts'

/** Files are also polled, since not every file system reports changes. */
const pollMs = 1000
/** The least pause between two reports about a file that changes all the time. */
const leastPauseMs = 10

/**
 * Reports once that a file may have changed, and again only after it is re-armed. A program that writes a byte at a
 * time causes more events than anybody can handle, so none are asked for while somebody is busy with the file.
 */
export class FileChange {
  readonly #path: string
  readonly #clock: Clock
  readonly #tell: () => void
  #watcher: FSWatcher | undefined
  #cancelPoll: CancelTimer = () => {}
  #cancelPause: CancelTimer = () => {}
  #armedAt = -Infinity
  #isArmed = false

  constructor(path: string, clock: Clock, tell: () => void) {
    this.#path = path
    this.#clock = clock
    this.#tell = tell
  }

  get isArmed(): boolean {
    return this.#isArmed
  }

  arm(): void {
    this.disarm()
    this.#isArmed = true
    this.#armedAt = this.#clock.now()
    this.#poll()
    try {
      this.#watcher = watch(this.#path, { persistent: false }, () => this.#seen())
      this.#watcher.on('error', () => {})
    } catch {
      // The file is missing, or there are too many watches: polling still works.
    }
  }

  disarm(): void {
    this.#isArmed = false
    this.#cancelPoll()
    this.#cancelPause()
    this.#watcher?.close()
    this.#watcher = undefined
  }

  #poll(): void {
    this.#cancelPoll = this.#clock.after(pollMs, () => {
      this.#poll()
      this.#tell()
    })
  }

  #seen(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    const pauseMs = this.#armedAt + leastPauseMs - this.#clock.now()
    if (pauseMs <= 0) this.#changed()
    else this.#cancelPause = this.#clock.after(pauseMs, () => this.#changed())
  }

  #changed(): void {
    this.disarm()
    this.#tell()
  }
}
