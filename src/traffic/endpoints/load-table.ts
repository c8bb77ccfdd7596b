/** An endpoint's slot in the table. The generation tells it from endpoints that used the slot before. */
export interface LoadPlace {
  readonly slot: number
  readonly generation: number
}

/** What another thread needs in order to use the same table. */
export interface LoadTableShape {
  readonly buffer: SharedArrayBuffer
  readonly rows: number
  readonly epochMs: number
}

/** The row of the main thread, which owns the table: it adds and removes endpoints and holds everybody who waits. */
export const ownerRow = 0

/** More endpoints than a gateway will have; the table takes a few hundred kilobytes. */
const defaultSlots = 16_384

// The cells of a slot. The gate is the generation of the endpoint that takes requests there, and 0 while none does.
const gateCell = 0
const wantedCell = 1
const lastActiveCell = 2
const firstRowCell = 3

/** The unit of times in the table. A 32-bit count of it lasts for years. */
const tickMs = 100

/**
 * How many requests each endpoint has, in memory shared by all threads. Each thread has its own row, so that the counts
 * of a thread that died can be cleared. A thread counts its request first and checks the gate after; the owner shuts
 * the gate first and reads the counts after. So either the thread sees the gate shut, or the owner sees the request.
 */
export class LoadTable {
  readonly #shape: LoadTableShape
  readonly #cells: Int32Array
  readonly #rows: number
  readonly #stride: number
  readonly #slots: number
  // What follows is the owner's.
  readonly #free: number[] = []
  #used = 0
  #generation = 0

  constructor(shape: LoadTableShape) {
    this.#shape = shape
    this.#cells = new Int32Array(shape.buffer)
    this.#rows = shape.rows
    this.#stride = strideOf(shape.rows)
    this.#slots = Math.floor(this.#cells.length / this.#stride)
  }

  /** A new table for its owner and this many other threads. */
  static shared(options: { readonly workers: number; readonly epochMs: number; readonly slots?: number }): LoadTable {
    const { workers, epochMs, slots = defaultSlots } = options
    const rows = workers + 1
    return new LoadTable({ buffer: new SharedArrayBuffer(bytesOf(rows, slots)), rows, epochMs })
  }

  get shape(): LoadTableShape {
    return this.#shape
  }

  /** Takes a free slot, with its gate shut; `undefined` if there is none. */
  claim(): LoadPlace | undefined {
    const slot = this.#free.pop() ?? (this.#used < this.#slots ? this.#used++ : undefined)
    if (slot === undefined) return undefined
    Atomics.store(this.#cells, slot * this.#stride + wantedCell, 0)
    Atomics.store(this.#cells, slot * this.#stride + lastActiveCell, 0)
    return { slot, generation: ++this.#generation }
  }

  /** Frees the slot of an endpoint that has no requests any more. */
  forget(place: LoadPlace): void {
    this.shut(place)
    this.#free.push(place.slot)
  }

  open({ slot, generation }: LoadPlace): void {
    Atomics.store(this.#cells, slot * this.#stride + gateCell, generation)
  }

  shut({ slot }: LoadPlace): void {
    Atomics.store(this.#cells, slot * this.#stride + gateCell, 0)
  }

  /** Sets whether requests wait for this endpoint: then whoever leaves it tells the owner, and newcomers queue. */
  want({ slot }: LoadPlace, wanted: boolean): void {
    Atomics.store(this.#cells, slot * this.#stride + wantedCell, wanted ? 1 : 0)
  }

  /** Clears the counts of a thread that has died. */
  clearRow(row: number): void {
    for (let slot = 0; slot < this.#used; slot++) {
      Atomics.store(this.#cells, slot * this.#stride + firstRowCell + row, 0)
    }
  }

  /** The number of requests at the endpoint, from all threads. */
  load(slot: number): number {
    const first = slot * this.#stride + firstRowCell
    let sum = 0
    for (let cell = first; cell < first + this.#rows; cell++) sum += Atomics.load(this.#cells, cell)
    return sum
  }

  /** Counts a request, unless the gate is shut or the endpoint is full. */
  take(place: LoadPlace, row: number, capacity: number): boolean {
    const base = place.slot * this.#stride
    Atomics.add(this.#cells, base + firstRowCell + row, 1)
    if (this.isOpen(place) && this.load(place.slot) <= capacity) return true
    Atomics.add(this.#cells, base + firstRowCell + row, -1)
    return false
  }

  release({ slot }: LoadPlace, row: number): void {
    Atomics.add(this.#cells, slot * this.#stride + firstRowCell + row, -1)
  }

  isOpen({ slot, generation }: LoadPlace): boolean {
    return Atomics.load(this.#cells, slot * this.#stride + gateCell) === generation
  }

  isWanted({ slot }: LoadPlace): boolean {
    return Atomics.load(this.#cells, slot * this.#stride + wantedCell) !== 0
  }

  /** Whether the owner must be told when a request leaves: somebody waits, or the endpoint is closing. */
  isWatched(place: LoadPlace): boolean {
    return this.isWanted(place) || !this.isOpen(place)
  }

  markActive({ slot }: LoadPlace, now: number): void {
    const ticks = Math.max(0, Math.ceil((now - this.#shape.epochMs) / tickMs))
    Atomics.store(this.#cells, slot * this.#stride + lastActiveCell, ticks)
  }

  /** When another thread last used it, in milliseconds since the epoch, rounded up. */
  lastActiveAt({ slot }: LoadPlace): number | undefined {
    const ticks = Atomics.load(this.#cells, slot * this.#stride + lastActiveCell)
    return ticks === 0 ? undefined : this.#shape.epochMs + ticks * tickMs
  }
}

function strideOf(rows: number): number {
  return firstRowCell + rows
}

function bytesOf(rows: number, slots: number): number {
  return strideOf(rows) * slots * Int32Array.BYTES_PER_ELEMENT
}
