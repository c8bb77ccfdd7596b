interface Flow<T> {
  readonly name: string
  readonly waiting: T[]
  /** What it has used so far, as the queue's own time counts. */
  usedUntil: number
}

/**
 * Who comes next among flows that want the same thing: the one that has used least of it since it began to want some. Each flow
 * has a time of its own, which what it uses moves on; one that was away begins at the time of whoever was served last, so that
 * nobody saves anything up, and who used much waits until the others have had as much (start-time fair queuing). What something
 * costs need not be known before it is done.
 */
export class FairQueue<T> {
  readonly #flows = new Map<string, Flow<T>>()
  #time = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  /** `first`: before what the flow has waiting already, as what has been begun is. */
  add(name: string, item: T, first = false): void {
    const { waiting } = this.#flow(name)
    if (first) waiting.unshift(item)
    else waiting.push(item)
    this.#size += 1
  }

  /** Takes the next item out. Flows whose turn it is not, whatever they have used, are passed over. */
  next(mayGo: (name: string, item: T) => boolean): { readonly flow: string; readonly item: T } | undefined {
    let best: Flow<T> | undefined
    for (const flow of this.#flows.values()) {
      const [item] = flow.waiting
      if (item === undefined || (best && best.usedUntil <= flow.usedUntil)) continue
      if (mayGo(flow.name, item)) best = flow
    }
    const item = best?.waiting.shift()
    if (!best || item === undefined) return undefined
    this.#time = Math.max(this.#time, best.usedUntil)
    this.#size -= 1
    return { flow: best.name, item }
  }

  /** Takes an item out that cannot wait any longer. */
  remove(name: string, item: T): boolean {
    const waiting = this.#flows.get(name)?.waiting ?? []
    const at = waiting.indexOf(item)
    if (at < 0) return false
    waiting.splice(at, 1)
    this.#size -= 1
    return true
  }

  /** The flow has used so much, whether it had to wait for it or not. */
  charge(name: string, cost: number): void {
    const flow = this.#flow(name)
    if (this.#size === 0) this.#time = Math.max(this.#time, flow.usedUntil)
    flow.usedUntil += cost
  }

  /** Forgets flows that are even with everybody else; with nothing waiting, all of them. */
  forgetIdle(): void {
    if (this.#size === 0) return this.#flows.clear()
    for (const flow of this.#flows.values()) {
      if (flow.waiting.length === 0 && flow.usedUntil <= this.#time) this.#flows.delete(flow.name)
    }
  }

  #flow(name: string): Flow<T> {
    let flow = this.#flows.get(name)
    if (!flow) this.#flows.set(name, (flow = { name, waiting: [], usedUntil: this.#time }))
    else if (flow.waiting.length === 0) flow.usedUntil = Math.max(flow.usedUntil, this.#time)
    return flow
  }
}
