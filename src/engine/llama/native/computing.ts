import { SluiceError } from '../../../foundation/errors.ts'
import { abortReason } from '../../../foundation/clock.ts'
import type { GrowingContext } from './growing-context.ts'
import type { NativeContext, NativeSampler } from './llama-addon.ts'
import type { Token } from './loaded-model.ts'
import type { Sequence } from './sequence.ts'
import type { StepThreads } from './step-threads.ts'

/** A token and its probability. Lists of candidates are sorted by it, the likeliest first. */
export type Candidate = readonly [token: number, probability: number]

export interface Drawn {
  readonly token: Token
  /** Every token of the vocabulary, if they were asked for. */
  readonly candidates: readonly Candidate[]
}

/** What a sequence computes in one step. */
export interface StepWork {
  readonly sequence: Sequence
  /** They follow those that the sequence has. */
  readonly tokens: readonly Token[]
  /** Draws the token after the last one; without it nothing is drawn. */
  readonly sampler?: NativeSampler | undefined
  readonly probabilities?: boolean | undefined
}

interface Waiting extends StepWork {
  readonly resolve: (drawn: Drawn | undefined) => void
  readonly reject: (error: Error) => void
}

/**
 * Computes for all sequences in steps. llama.cpp computes the tokens of all sequences in a batch together, which costs
 * little more than those of one. So a step begins when the one before has ended and everyone it served has had time to
 * ask for the next.
 */
export class Computing {
  readonly #context: GrowingContext
  /** The most tokens in a step. */
  readonly #batchSize: number
  readonly #threads: StepThreads
  #waiting: Waiting[] = []
  #acts: (() => Promise<void>)[] = []
  #running = false

  constructor(context: GrowingContext, batchSize: number, threads: StepThreads) {
    this.#context = context
    this.#batchSize = batchSize
    this.#threads = threads
  }

  /** Computes in the next step. Work that waits ends with its signal; a step that has begun is not interrupted. */
  compute(work: StepWork, signal: AbortSignal): Promise<Drawn | undefined> {
    if (signal.aborted) return Promise.reject(abortReason(signal))
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        // llama.cpp uses the sampler until the step ends.
        if (!this.#waiting.includes(waiting)) return
        this.#waiting = this.#waiting.filter((other) => other !== waiting)
        reject(abortReason(signal))
      }
      const settle = () => signal.removeEventListener('abort', onAbort)
      const waiting: Waiting = {
        ...work,
        resolve: (drawn) => {
          settle()
          resolve(drawn)
        },
        reject: (error) => {
          settle()
          reject(error)
        },
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.push(waiting)
      this.#start()
    })
  }

  /** Does something with the context between two steps. */
  between<T>(act: (context: NativeContext) => Promise<T> | T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#acts.push(async () => {
        try {
          resolve(await act(this.#context.native))
        } catch (error) {
          reject(asError(error))
        }
      })
      this.#start()
    })
  }

  #start(): void {
    if (this.#running) return
    this.#running = true
    void this.#run()
  }

  async #run(): Promise<void> {
    while (true) {
      // Whoever was served in the last step asks for the next one during this turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve))
      for (const act of this.#acts.splice(0)) await act()
      if (this.#waiting.length > 0) await this.#step(this.#nextBatch())
      else if (this.#acts.length === 0) break
    }
    this.#running = false
  }

  #nextBatch(): readonly Waiting[] {
    const batch: Waiting[] = []
    let tokens = 0
    // Single tokens first, so that answers go on beside long prompts; those take turns.
    for (const waiting of this.#waiting.toSorted((a, b) => Number(a.tokens.length > 1) - Number(b.tokens.length > 1))) {
      if (batch.length > 0 && tokens + waiting.tokens.length > this.#batchSize) continue
      batch.push(waiting)
      tokens += waiting.tokens.length
    }
    this.#waiting = this.#waiting.filter((waiting) => !batch.includes(waiting))
    // Neighbours in the context are computed in one go.
    return batch.sort((a, b) => (a.sequence.id ?? Infinity) - (b.sequence.id ?? Infinity))
  }

  async #step(chosen: readonly Waiting[]): Promise<void> {
    let batch = chosen
    try {
      await this.#context.makeRoom(chosen)
      batch = chosen.filter((work) => this.#context.holds(work))
      for (const work of chosen) if (!batch.includes(work)) work.reject(new SluiceError('engine_memory_full'))
      if (batch.length > 0) await this.#compute(batch)
    } catch (error) {
      // What is in the context now is not known.
      for (const { sequence } of batch) sequence.clear(this.#context.native)
      for (const { reject } of batch) reject(asError(error))
    }
  }

  async #compute(batch: readonly Waiting[]): Promise<void> {
    const { native } = this.#context
    const tokens = batch.reduce((sum, work) => sum + work.tokens.length, 0)
    native.initBatch(tokens)
    const asked = batch.map((work) => addTo(native, work))
    native.setThreads(this.#threads.forStep(tokens))
    await native.decodeBatch()
    for (const work of batch) work.sequence.computed(work.tokens)
    await Promise.all(batch.map((work, index) => draw(native, work, asked[index])))
  }
}

function addTo(native: NativeContext, { sequence, tokens, sampler }: StepWork): number | undefined {
  if (sequence.id === undefined) throw new SluiceError('internal_error')
  const last = sampler ? Uint32Array.of(tokens.length - 1) : new Uint32Array()
  return native.addToBatch(sequence.id, sequence.tokens.length, Uint32Array.from(tokens), last)[0]
}

async function draw(native: NativeContext, work: Waiting, index: number | undefined): Promise<void> {
  const { sampler, probabilities, resolve, reject } = work
  if (!sampler || index === undefined) {
    resolve(undefined)
    return
  }
  try {
    if (probabilities) {
      const [token, flat = []] = await native.sampleToken(index, sampler, true)
      resolve({ token: checked(token), candidates: pairs(flat) })
    } else {
      resolve({ token: checked(await native.sampleToken(index, sampler)), candidates: [] })
    }
  } catch (error) {
    reject(asError(error))
  }
}

function checked(token: number): Token {
  if (token < 0) throw new Error('no token can follow')
  return token
}

function pairs(flat: readonly number[]): Candidate[] {
  const found: Candidate[] = []
  for (let at = 0; at + 1 < flat.length; at += 2) found.push([flat[at] ?? 0, flat[at + 1] ?? 0])
  return found
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
