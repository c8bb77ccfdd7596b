import type { ApiKey, KeyKeeping } from '../session/api-key.ts'
import type { KeyFormState } from '../session/key-gate.ts'
import { part } from './element.ts'

export interface KeyActions {
  /** True when the key is being tried. */
  enter: (text: string, keeping: KeyKeeping) => boolean
  cancel: () => void
  change: () => void
  forget: () => void
}

const KEPT: Record<KeyKeeping, string> = { tab: 'kept until this tab is closed', browser: 'kept in this browser' }
const SHOWN_CHARACTERS = 9

/** The form for a key, in place of the composer, and the row in the settings that changes or removes it. */
export class KeyForm {
  readonly #form = part('key-form', HTMLFormElement)
  readonly #message = part('key-message', HTMLElement)
  readonly #input = part('key-input', HTMLInputElement)
  readonly #remember = part('key-remember', HTMLInputElement)
  readonly #submit = part('key-submit', HTMLButtonElement)
  readonly #cancel = part('key-cancel', HTMLButtonElement)
  readonly #settings = part('settings', HTMLElement)
  readonly #row = part('key-row', HTMLElement)
  readonly #kept = part('key-kept', HTMLElement)

  constructor(actions: KeyActions) {
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault()
      const keeping = this.#remember.checked ? 'browser' : 'tab'
      if (!actions.enter(this.#input.value, keeping)) this.#input.focus()
    })
    this.#cancel.addEventListener('click', actions.cancel)
    this.#form.addEventListener('keydown', ({ key }) => {
      if (key === 'Escape' && !this.#cancel.hidden) actions.cancel()
    })
    for (const [id, action] of [['key-change', actions.change] as const, ['key-forget', actions.forget] as const]) {
      part(id, HTMLButtonElement).addEventListener('click', () => {
        this.#settings.hidePopover()
        action()
      })
    }
  }

  /** True when the form has just closed. */
  update(state: KeyFormState, key: Pick<ApiKey, 'value' | 'keeping'>): boolean {
    const { visible } = state
    const before = !this.#form.hidden
    if (visible) {
      if (this.#message.textContent !== state.message) this.#message.textContent = state.message
      this.#message.classList.toggle('is-failure', state.isFailure)
      this.#submit.disabled = state.checking
      this.#submit.textContent = state.checking ? 'Checking…' : 'Use this key'
      this.#cancel.hidden = !state.cancellable
    }
    if (visible !== before) {
      this.#form.hidden = !visible
      // A secret does not stay in the page when nobody is typing it.
      this.#input.value = ''
      if (visible) {
        this.#remember.checked = key.value !== undefined && key.keeping === 'browser'
        this.focus()
      }
    }
    this.#row.hidden = key.value === undefined
    if (key.value !== undefined) {
      this.#kept.textContent = `${key.value.slice(0, SHOWN_CHARACTERS)}… · ${KEPT[key.keeping]}`
    }
    return before && !visible
  }

  focus(): void {
    this.#input.focus()
  }
}
