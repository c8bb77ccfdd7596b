import type { Clock } from '../../foundation/clock.ts'
import type { FileReads } from './file-reads.ts'

/**
 * `starting`: the library is opened, and cards are proved. `reading`: the file is read. `weights`: what was read is put
 * where it is computed with. `preparing`: contexts, the chat template, and a first token.
 */
export type LoadPhase = 'starting' | 'reading' | 'weights' | 'preparing'

/** How far a model is loaded, as `GET /health` tells it. */
export interface LoadReport {
  readonly phase: LoadPhase
  /** Of this phase. */
  readonly bytes: number
  readonly totalBytes: number
  /** For how long nothing has moved. A disk that hangs is told from a slow one by this. */
  readonly stillSeconds: number
}

export interface LoadProgressOptions {
  readonly totalBytes: number
  readonly clock: Clock
  readonly reads: () => FileReads | undefined
}

/** Follows the load of a model. */
export class LoadProgress {
  readonly #options: LoadProgressOptions
  #phase: LoadPhase = 'starting'
  /** What the process had of files when it began to read the model. */
  #before: FileReads | undefined
  #last: FileReads | undefined
  #readBytes = 0
  #fraction = 0
  #movedAt: number

  constructor(options: LoadProgressOptions) {
    this.#options = options
    this.#movedAt = options.clock.now()
  }

  enter(phase: LoadPhase): void {
    if (phase === 'reading') {
      this.#before = this.#options.reads()
      this.#last = this.#before
    }
    this.#phase = phase
    this.#moved()
  }

  /** llama.cpp has put this part of the weights where it computes with them. Before its first word all was read. */
  placed(fraction: number): void {
    // Words that were queued may arrive when the load is over.
    if (this.#phase === 'reading') this.enter('weights')
    if (this.#phase !== 'weights' || fraction <= this.#fraction) return
    this.#fraction = fraction
    this.#moved()
  }

  report(): LoadReport {
    this.#look()
    const { totalBytes, clock } = this.#options
    const stillSeconds = Math.max(0, Math.floor((clock.now() - this.#movedAt) / 1000))
    return { phase: this.#phase, bytes: this.#bytes(), totalBytes, stillSeconds }
  }

  #bytes(): number {
    const { totalBytes } = this.#options
    switch (this.#phase) {
      case 'starting':
        return 0
      case 'reading':
        return this.#readBytes
      case 'weights':
        return Math.floor(this.#fraction * totalBytes)
      case 'preparing':
        return totalBytes
      default:
        return this.#phase satisfies never
    }
  }

  /**
   * Of a file that others have read already disks deliver nothing, and of one that is larger than the memory not all
   * stays mapped; so the larger figure is what was read.
   */
  #look(): void {
    const reads = this.#phase === 'starting' ? undefined : this.#options.reads()
    if (!reads || !this.#before) return
    const mapped = reads.mappedBytes - this.#before.mappedBytes
    const delivered = reads.deliveredBytes - this.#before.deliveredBytes
    this.#readBytes = Math.min(this.#options.totalBytes, Math.max(this.#readBytes, mapped, delivered))
    const { mappedBytes, deliveredBytes } = this.#last ?? reads
    if (mappedBytes !== reads.mappedBytes || deliveredBytes !== reads.deliveredBytes) this.#moved()
    this.#last = reads
  }

  #moved(): void {
    this.#movedAt = this.#options.clock.now()
  }
}
