import { type FSWatcher, watch } from 'node:fs'
import type { CancelTimer, Clock } from '../../foundation/clock.ts'

/** Not every file system reports changes. */
const pollMs = 1000
/** A file that changes all the time is looked at again after this, not after every change. */
const leastPauseMs = 10

/**
 * Tells once that a file may have changed, then only after it is armed again. A program that writes a byte at a time
 * causes more reports than can be handled: while somebody is busy with the file, or has just been, none are asked for.
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
      // Nothing to watch, or too much is watched already: the poll remains.
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
