import { FairQueue, type QueuePlace } from './fair-queue.ts'
import type { Caller, LevelName, PriorityLevel } from './priority-levels.ts'

interface Level<T> extends PriorityLevel {
  readonly queue: FairQueue<T>
  usedUntil: number
}

/** Chooses who is next: among levels by their weights, and within a level among its flows. */
export class LevelQueue<T> {
  readonly #levels: ReadonlyMap<LevelName, Level<T>>
  #time = 0
  #size = 0

  constructor(levels: readonly PriorityLevel[]) {
    this.#levels = new Map(levels.map((level) => [level.name, { ...level, queue: new FairQueue<T>(), usedUntil: 0 }]))
  }

  get size(): number {
    return this.#size
  }

  sizeOf(name: LevelName): number {
    return this.#levels.get(name)?.queue.size ?? 0
  }

  add({ level: name, flow }: Caller, item: T, place: QueuePlace = {}): void {
    const level = this.#level(name)
    if (level.queue.size === 0) level.usedUntil = Math.max(level.usedUntil, this.#time)
    level.queue.add(flow, item, place)
    this.#size += 1
  }

  next(mayGo: (flow: string, item: T) => boolean): T | undefined {
    const waiting = [...this.#levels.values()].filter(({ queue }) => queue.size > 0)
    for (const level of waiting.sort((one, other) => one.usedUntil - other.usedUntil)) {
      const found = level.queue.next(mayGo)
      if (!found) continue
      this.#time = Math.max(this.#time, level.usedUntil)
      this.#size -= 1
      return found.item
    }
    return undefined
  }

  remove({ level, flow }: Caller, item: T): boolean {
    const removed = this.#level(level).queue.remove(flow, item)
    if (removed) this.#size -= 1
    return removed
  }

  charge({ level: name, flow }: Caller, cost: number): void {
    const level = this.#level(name)
    if (level.queue.size === 0) level.usedUntil = Math.max(level.usedUntil, this.#time)
    if (this.#size === 0) this.#time = Math.max(this.#time, level.usedUntil)
    level.usedUntil += cost / level.weight
    level.queue.charge(flow, cost)
  }

  forgetIdle(): void {
    for (const { queue } of this.#levels.values()) queue.forgetIdle()
  }

  #level(name: LevelName): Level<T> {
    const level = this.#levels.get(name)
    if (!level) throw new RangeError(`there is no priority level ${name}`)
    return level
  }
}
