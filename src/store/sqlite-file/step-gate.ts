/** The steps of a commit at which tests can stop or end the thread. */
export const threadSteps = ['opened', 'received', 'inserted', 'committed', 'told'] as const
export type ThreadStep = (typeof threadSteps)[number]

/** What happens at the step: the thread waits, or ends in one of the ways in which threads end. */
export const stepActions = ['wait', 'exit', 'throw', 'exhaust memory'] as const
export type StepAction = (typeof stepActions)[number]

const armedAt = 0
const standsAt = 1
const actionAt = 2

/**
 * For tests: stops a thread at one of its steps, and tells when it is there. Shared by two threads; a thread without a
 * gate passes every step.
 */
export class StepGate {
  readonly shared: SharedArrayBuffer
  readonly #cells: Int32Array<SharedArrayBuffer>

  constructor(shared = new SharedArrayBuffer(12)) {
    this.shared = shared
    this.#cells = new Int32Array(shared)
  }

  /** From now on the thread does this when it reaches the step. */
  arm(step: ThreadStep, action: StepAction = 'wait'): void {
    Atomics.store(this.#cells, actionAt, stepActions.indexOf(action))
    Atomics.store(this.#cells, standsAt, 0)
    Atomics.store(this.#cells, armedAt, threadSteps.indexOf(step) + 1)
  }

  /** Resolves when the thread has reached the step. */
  async reached(): Promise<void> {
    const waiting = Atomics.waitAsync(this.#cells, standsAt, 0)
    if (waiting.async) await waiting.value
  }

  /** Lets the thread go on, here and at every other step. */
  release(): void {
    Atomics.store(this.#cells, armedAt, 0)
    Atomics.notify(this.#cells, armedAt)
  }

  /** Called by the thread at a step. */
  pass(step: ThreadStep): void {
    const number = threadSteps.indexOf(step) + 1
    if (Atomics.load(this.#cells, armedAt) !== number) return
    const action = stepActions[Atomics.load(this.#cells, actionAt)]
    // Only one thread ends: the one after it passes.
    if (action !== 'wait') Atomics.store(this.#cells, armedAt, 0)
    Atomics.store(this.#cells, standsAt, number)
    Atomics.notify(this.#cells, standsAt)
    if (action === 'wait') Atomics.wait(this.#cells, armedAt, number)
    else end(action)
  }
}

function end(action: StepAction | undefined): void {
  if (action === 'exit') process.exit(1)
  if (action === 'throw') throw new Error('ended by a test')
  const held: number[][] = []
  for (;;) held.push(Array.from({ length: 10_000 }, (_, index) => index + held.length))
}
