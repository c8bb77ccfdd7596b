import { readApiKey, type ApiKey, type KeyKeeping } from './api-key.ts'
import type { ModelDirectory } from './model-watch.ts'

/** The content of the form for a key. */
export interface KeyFormState {
  visible: boolean
  message: string
  /** Whether the message reports a failure rather than what to do. */
  isFailure: boolean
  checking: boolean
  /** Whether the form can be closed without a key. */
  cancellable: boolean
}

const NOT_A_KEY = 'An API key is one word of letters, digits and dashes, such as sk-…. Copy it whole, without spaces.'
const NO_ANSWER = 'The gateway does not answer; the key could not be tried. This page asks again by itself.'
const ANOTHER = 'Enter another key. The one in use stays until the gateway takes the new one.'

/** Decides when to ask for a key. With a gateway that needs none, the form is never shown. */
export class KeyGate {
  readonly #key: ApiKey
  #changing = false
  #checking = false
  #problem = ''

  constructor(key: ApiKey) {
    this.#key = key
  }

  /** False when the text cannot be a key. Otherwise the model list is to be requested again with it. */
  enter(text: string, keeping: KeyKeeping): boolean {
    const value = readApiKey(text)
    this.#problem = value === undefined ? NOT_A_KEY : ''
    if (value === undefined) return false
    this.#checking = true
    this.#key.try(value, keeping)
    return true
  }

  /** Takes the result of the latest request for the models. */
  heard({ status }: ModelDirectory): void {
    const tried = this.#checking
    this.#checking = false
    if (status === 'unreachable' && tried) this.#problem = NO_ANSWER
    if (status === 'locked') this.#problem = ''
    if (status !== 'listed') return
    this.#key.taken()
    // A form that the user has just opened to change the key must not close because the old key still works.
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
      // Asking for the first time is not a failure.
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
