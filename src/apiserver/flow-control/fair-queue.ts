interface Flow<T> {
  readonly name: string
  readonly waiting: T[]
  /** Items that may also wait for something other than their turn; the flow's other items do not queue behind them. */
  readonly apart: T[]
  wasApart: boolean
  /** How much the flow has used so far, in the queue's own virtual time. */
  usedUntil: number
}

export interface QueuePlace {
  /** Puts the item before those of its flow, for work that has already begun. */
  readonly first?: boolean | undefined
  /** Puts the item in a line of its own, because it may also wait for something other than its turn. */
  readonly apart?: boolean | undefined
}

/**
 * Decides who is next among flows that compete for something: the flow that has used least of it (start-time fair
 * queuing). Each flow has a virtual time, which advances by what it uses. A flow that was away resumes at the time of
 * whoever was served last, so that nobody saves anything up, and one that has used much waits until the others have had
 * as much. What an item costs need not be known before it is done.
 */
export class FairQueue<T> {
  readonly #flows = new Map<string, Flow<T>>()
  #time = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  add(name: string, item: T, { first = false, apart = false }: QueuePlace = {}): void {
    const flow = this.#flow(name)
    const line = apart ? flow.apart : flow.waiting
    if (first) line.unshift(item)
    else line.push(item)
    this.#size += 1
  }

  /** Takes the next item out. Items that may not go are passed over, together with those queued behind them. */
  next(mayGo: (name: string, item: T) => boolean): { readonly flow: string; readonly item: T } | undefined {
    let best: Flow<T> | undefined
    let bestLine: T[] | undefined
    for (const flow of this.#flows.values()) {
      if (best && best.usedUntil <= flow.usedUntil) continue
      const line = lineToServe(flow, mayGo)
      if (!line) continue
      best = flow
      bestLine = line
    }
    const item = bestLine?.shift()
    if (!best || item === undefined) return undefined
    best.wasApart = bestLine === best.apart
    this.#time = Math.max(this.#time, best.usedUntil)
    this.#size -= 1
    return { flow: best.name, item }
  }

  /** Removes an item that cannot wait any longer. */
  remove(name: string, item: T): boolean {
    const flow = this.#flows.get(name)
    for (const line of flow ? [flow.waiting, flow.apart] : []) {
      const at = line.indexOf(item)
      if (at < 0) continue
      line.splice(at, 1)
      this.#size -= 1
      return true
    }
    return false
  }

  /** Records what the flow has used, whether it had to wait for it or not. */
  charge(name: string, cost: number): void {
    const flow = this.#flow(name)
    if (this.#size === 0) this.#time = Math.max(this.#time, flow.usedUntil)
    flow.usedUntil += cost
  }

  /** Forgets flows that have no debt; when nothing is waiting, all of them. */
  forgetIdle(): void {
    if (this.#size === 0) return this.#flows.clear()
    for (const flow of this.#flows.values()) {
      if (isEmpty(flow) && flow.usedUntil <= this.#time) this.#flows.delete(flow.name)
    }
  }

  #flow(name: string): Flow<T> {
    let flow = this.#flows.get(name)
    if (!flow) this.#flows.set(name, (flow = { name, waiting: [], apart: [], wasApart: false, usedUntil: this.#time }))
    else if (isEmpty(flow)) flow.usedUntil = Math.max(flow.usedUntil, this.#time)
    return flow
  }
}

/** The two lines of a flow alternate, unless the one whose turn it is cannot go. */
function lineToServe<T>(flow: Flow<T>, mayGo: (name: string, item: T) => boolean): T[] | undefined {
  const lines = flow.wasApart ? [flow.waiting, flow.apart] : [flow.apart, flow.waiting]
  return lines.find(([item]) => item !== undefined && mayGo(flow.name, item))
}

function isEmpty<T>({ waiting, apart }: Flow<T>): boolean {
  return waiting.length === 0 && apart.length === 0
}
