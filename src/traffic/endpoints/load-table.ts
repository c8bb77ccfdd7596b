/** Where an endpoint's requests are counted: another endpoint at the same slot, later, has another generation. */
export interface LoadPlace {
  readonly slot: number
  readonly generation: number
}

/** What another thread needs to count in the same table. */
export interface LoadTableShape {
  readonly buffer: SharedArrayBuffer
  readonly rows: number
  readonly epochMs: number
}

/** The row of the thread that owns the table: it says which endpoints there are, and has everybody who waits. */
export const ownerRow = 0

/** More endpoints than a gateway has; their table takes a few hundred kilobytes. */
const defaultSlots = 16_384

// The cells of a slot. The gate is the generation of the endpoint that takes requests there, and 0 while none does.
const gateCell = 0
const wantedCell = 1
const lastActiveCell = 2
const firstRowCell = 3

/** A 32-bit count of these lasts for years. */
const tickMs = 100

/**
 * How many requests each endpoint has, in memory that threads share: a row for each thread, so that the count of a
 * thread that is lost can be taken back. Who takes a place counts first and looks at the gate then, and the owner shuts
 * the gate first and looks at the counts then; so either the one sees the gate shut or the other sees the request.
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

  /** For its owner and so many others. */
  static shared(options: { readonly workers: number; readonly epochMs: number; readonly slots?: number }): LoadTable {
    const { workers, epochMs, slots = defaultSlots } = options
    const rows = workers + 1
    return new LoadTable({ buffer: new SharedArrayBuffer(bytesOf(rows, slots)), rows, epochMs })
  }

  get shape(): LoadTableShape {
    return this.#shape
  }

  /** A place, with its gate shut; `undefined` when every slot is taken. */
  claim(): LoadPlace | undefined {
    const slot = this.#free.pop() ?? (this.#used < this.#slots ? this.#used++ : undefined)
    if (slot === undefined) return undefined
    Atomics.store(this.#cells, slot * this.#stride + wantedCell, 0)
    Atomics.store(this.#cells, slot * this.#stride + lastActiveCell, 0)
    return { slot, generation: ++this.#generation }
  }

  /** Gives a place back that has no request any more. */
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

  /** Whether somebody waits for a place here: who leaves one says so, and who comes stands in line. */
  want({ slot }: LoadPlace, wanted: boolean): void {
    Atomics.store(this.#cells, slot * this.#stride + wantedCell, wanted ? 1 : 0)
  }

  /** Its thread is gone. */
  clearRow(row: number): void {
    for (let slot = 0; slot < this.#used; slot++) {
      Atomics.store(this.#cells, slot * this.#stride + firstRowCell + row, 0)
    }
  }

  /** The requests of all threads. */
  load(slot: number): number {
    const first = slot * this.#stride + firstRowCell
    let sum = 0
    for (let cell = first; cell < first + this.#rows; cell++) sum += Atomics.load(this.#cells, cell)
    return sum
  }

  /** Counts a request, unless the gate is shut or there would be more than the capacity. */
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

  /** Whether the owner wants to hear that a request has left: somebody waits, or the endpoint is on its way out. */
  isWatched(place: LoadPlace): boolean {
    return this.isWanted(place) || !this.isOpen(place)
  }

  markActive({ slot }: LoadPlace, now: number): void {
    const ticks = Math.max(0, Math.ceil((now - this.#shape.epochMs) / tickMs))
    Atomics.store(this.#cells, slot * this.#stride + lastActiveCell, ticks)
  }

  /** When another thread last marked it, in milliseconds since the epoch; a moment late rather than early. */
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
