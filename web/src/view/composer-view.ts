import { MAX_QUESTION_CHARACTERS } from '../conversation/conversation.ts'
import { part } from './element.ts'

export interface ComposerActions {
  /** True when the text was accepted. */
  send: (text: string) => boolean
  stop: () => void
}

export interface ComposerState {
  running: boolean
  ready: boolean
  model: string
  /** Whether something else is shown in its place. */
  hidden: boolean
}

const MAX_HEIGHT_PX = 220

export class ComposerView {
  readonly #form = part('composer-form', HTMLFormElement)
  readonly #text = part('composer', HTMLTextAreaElement)
  readonly #send = part('send', HTMLButtonElement)
  readonly #stop = part('stop', HTMLButtonElement)
  readonly #hint = part('composer-hint', HTMLElement)
  readonly #actions: ComposerActions
  #running = false
  #ready = false

  constructor(actions: ComposerActions) {
    this.#actions = actions
    this.#text.maxLength = MAX_QUESTION_CHARACTERS
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault()
      this.#submit()
    })
    this.#text.addEventListener('keydown', (event) => this.#key(event))
    this.#text.addEventListener('input', () => this.#changed())
    this.#stop.addEventListener('click', () => {
      this.#actions.stop()
      this.focus()
    })
    addEventListener('resize', () => this.#fit())
  }

  update({ running, ready, model, hidden }: ComposerState): void {
    this.#running = running
    this.#ready = ready
    this.#form.hidden = hidden
    this.#hint.hidden = hidden
    // If the focused Stop button is hidden, a keyboard user would lose the focus.
    const focusLost = document.activeElement === this.#stop && !running
    this.#send.hidden = running
    this.#stop.hidden = !running
    this.#text.placeholder = ready ? `Message ${model}` : 'No model to write to yet'
    this.#changed()
    if (focusLost) this.focus()
  }

  fill(text: string): void {
    this.#text.value = text
    this.#changed()
    this.focus()
  }

  focus(): void {
    this.#text.focus()
  }

  /** Does not focus on touch devices, where the keyboard would open and hide half of the page. */
  focusUnlessTouch(): void {
    if (matchMedia('(hover: hover)').matches) this.focus()
  }

  #key(event: KeyboardEvent): void {
    if (event.key === 'Escape' && this.#running) {
      this.#actions.stop()
      return
    }
    // While an input method is composing a character, Enter belongs to it.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    this.#submit()
  }

  #submit(): void {
    if (this.#running || !this.#ready || !this.#actions.send(this.#text.value)) return
    this.#text.value = ''
    this.#changed()
    this.focusUnlessTouch()
  }

  #changed(): void {
    this.#send.disabled = !this.#ready || this.#text.value.trim() === ''
    this.#fit()
  }

  #fit(): void {
    this.#text.style.height = 'auto'
    this.#text.style.height = `${Math.min(this.#text.scrollHeight, MAX_HEIGHT_PX)}px`
  }
}
