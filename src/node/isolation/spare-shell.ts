import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import type { ContainerShell } from './container-shell.ts'

/** By then a wake that took the spare one is over: making another stops this program for some milliseconds. */
const refillMs = 200

export interface SpareShellOptions {
  readonly clock: Clock
  /** A new shell in this network (the file of its namespace; empty for the machine's), to be used at once or kept. */
  start(network: string, use: 'now' | 'later'): ContainerShell
  /** The network that the next container will be in; `undefined` as long as nobody knows. */
  nextNetwork(): string | undefined
  /** Tells each time that it is another one; what it returns ends that. */
  onNextNetwork(listener: () => void): () => void
}

/**
 * Keeps one shell waiting, in namespaces of its own where there are any. Making them takes longer than everything else
 * about the start of a container; one that somebody waits for does not wait for that.
 */
export class SpareShell {
  readonly #options: SpareShellOptions
  #spare: { readonly shell: ContainerShell; readonly network: string } | undefined
  #cancelRefill: CancelTimer | undefined
  #closed = false

  readonly #unsubscribe: () => void

  constructor(options: SpareShellOptions) {
    this.#options = options
    this.#unsubscribe = options.onNextNetwork(() => this.refillSoon())
  }

  /** The spare one, or a new one where there is none in that network. Another is made later. */
  take(network: string): ContainerShell {
    const spare = this.#spare
    this.refillSoon()
    if (spare?.network !== network) return this.#options.start(network, 'now')
    this.#spare = undefined
    if (!spare.shell.isWaiting) {
      spare.shell.discard()
      return this.#options.start(network, 'now')
    }
    spare.shell.ref()
    return spare.shell
  }

  /** What the spare one sees of the machine is not what is there any more: another takes its place. */
  renew(): void {
    this.#spare?.shell.discard()
    this.#spare = undefined
    this.refillSoon()
  }

  refillSoon(): void {
    if (this.#closed) return
    this.#cancelRefill ??= this.#options.clock.after(refillMs, () => {
      this.#cancelRefill = undefined
      this.#refill()
    })
  }

  close(): void {
    this.#closed = true
    this.#unsubscribe()
    this.#cancelRefill?.()
    this.#spare?.shell.discard()
    this.#spare = undefined
  }

  #refill(): void {
    const network = this.#options.nextNetwork()
    if (network === undefined) return
    if (this.#spare?.network === network && this.#spare.shell.isWaiting) return
    this.#spare?.shell.discard()
    const shell = this.#options.start(network, 'later')
    this.#spare = { shell, network }
    shell.unref()
  }
}
