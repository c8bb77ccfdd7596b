import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import type { ContainerShell } from './container-shell.ts'

/**
 * Long enough for the wake that took the spare to be over: starting another blocks this program for some milliseconds.
 */
const refillMs = 200

export interface SpareShellOptions {
  readonly clock: Clock
  /** Starts a shell in this network (a namespace file; empty for the machine's), to be used at once or kept. */
  start(network: string, use: 'now' | 'later'): ContainerShell
  /** The network of the next container; `undefined` while it is unknown. */
  nextNetwork(): string | undefined
  /** Calls the listener when the next network changes. Returns how to unsubscribe. */
  onNextNetwork(listener: () => void): () => void
}

/**
 * Keeps one shell ready, in its own namespaces if there are any. Making namespaces takes longer than the rest of a
 * container's start, and nobody should wait for it.
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

  /** Takes the spare shell, or starts one if the spare is in another network. A new spare is started later. */
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

  /** Replaces the spare shell, because its view of the machine is outdated. */
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
