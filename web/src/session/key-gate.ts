import { readApiKey, type ApiKey, type KeyKeeping } from './api-key.ts'
import type { ModelDirectory } from './model-watch.ts'

/** What the form for a key shows. */
export interface KeyFormState {
  visible: boolean
  message: string
  /** The message is about something that went wrong, not about what to do. */
  isFailure: boolean
  checking: boolean
  /** There is something to go back to. */
  cancellable: boolean
}

const NOT_A_KEY = 'An API key is one word of letters, digits and dashes, such as sk-…. Copy it whole, without spaces.'
const NO_ANSWER = 'The gateway does not answer; the key could not be tried. This page asks again by itself.'
const ANOTHER = 'Enter another key. The one in use stays until the gateway takes the new one.'

/** Decides when a key is asked for. A gateway that needs none never sees it shown. */
export class KeyGate {
  readonly #key: ApiKey
  #changing = false
  #checking = false
  #problem = ''

  constructor(key: ApiKey) {
    this.#key = key
  }

  /** False when it cannot be a key; otherwise the models are to be asked for again, with it. */
  enter(text: string, keeping: KeyKeeping): boolean {
    const value = readApiKey(text)
    this.#problem = value === undefined ? NOT_A_KEY : ''
    if (value === undefined) return false
    this.#checking = true
    this.#key.try(value, keeping)
    return true
  }

  /** The answer to the newest question for the models. */
  heard({ status }: ModelDirectory): void {
    const tried = this.#checking
    this.#checking = false
    if (status === 'unreachable' && tried) this.#problem = NO_ANSWER
    if (status === 'locked') this.#problem = ''
    if (status !== 'listed') return
    this.#key.taken()
    // A form that somebody has just opened to change the key must not close because the old one still works.
    if (!this.#changing || tried) this.#close()
  }

  change(): void {
    this.#changing = true
    this.#problem = ''
  }

  cancel(): void {
    this.#key.reload()
    this.#close()
  }

  forget(): void {
    this.#key.forget()
    this.#close()
  }

  form({ status, refusal }: ModelDirectory): KeyFormState {
    const locked = status === 'locked'
    const refused = locked ? refusal : ''
    return {
      visible: locked || this.#changing,
      message: this.#problem || refused || ANOTHER,
      // Who has not been asked before has done nothing wrong.
      isFailure: this.#problem !== '' || (refused !== '' && this.#key.value !== undefined),
      checking: this.#checking,
      cancellable: this.#changing,
    }
  }

  #close(): void {
    this.#changing = false
    this.#checking = false
    this.#problem = ''
  }
}
