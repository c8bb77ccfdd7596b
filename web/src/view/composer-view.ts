import type { AttachedImage } from '../attachments/attached-image.ts'
import { MAX_QUESTION_CHARACTERS } from '../conversation/conversation.ts'
import { AttachmentTray } from './attachment-tray.ts'
import { DictationButton } from './dictation-button.ts'
import { part } from './element.ts'
import { fitHeight, isSendingKey } from './text-entry.ts'

export interface ComposerActions {
  /** True when the text was accepted. */
  send: (text: string, images: readonly AttachedImage[]) => boolean
  stop: () => void
  /** Gives the words of what was said. */
  transcribe: (speech: Blob, model: string, signal: AbortSignal) => Promise<string>
}

export interface ComposerState {
  running: boolean
  ready: boolean
  model: string
  canSee: boolean
  /** The model that writes down what is said, if there is one. */
  transcriber: string | undefined
  /** Whether something else is shown in its place. */
  hidden: boolean
}

export class ComposerView {
  readonly #form = part('composer-form', HTMLFormElement)
  readonly #text = part('composer', HTMLTextAreaElement)
  readonly #send = part('send', HTMLButtonElement)
  readonly #stop = part('stop', HTMLButtonElement)
  readonly #hint = part('composer-hint', HTMLElement)
  readonly #actions: ComposerActions
  readonly #tray: AttachmentTray
  readonly #dictation: DictationButton
  #running = false
  #ready = false

  constructor(actions: ComposerActions) {
    this.#actions = actions
    this.#tray = new AttachmentTray(this.#form, () => this.#changed())
    this.#dictation = new DictationButton({
      transcribe: actions.transcribe,
      said: (text) => this.fill(`${this.#text.value.trimEnd()} ${text}`.trim()),
    })
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
    addEventListener('resize', () => fitHeight(this.#text))
  }

  update({ running, ready, model, canSee, transcriber, hidden }: ComposerState): void {
    this.#tray.update(canSee, model)
    this.#dictation.update(transcriber)
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
    if (!isSendingKey(event)) return
    event.preventDefault()
    this.#submit()
  }

  #submit(): void {
    if (this.#running || !this.#ready || this.#tray.isRefused) return
    if (!this.#actions.send(this.#text.value, this.#tray.images)) return
    this.#text.value = ''
    this.#tray.clear()
    this.#changed()
    this.focusUnlessTouch()
  }

  #changed(): void {
    const isEmpty = this.#text.value.trim() === '' && this.#tray.images.length === 0
    this.#send.disabled = !this.#ready || isEmpty || this.#tray.isRefused
    fitHeight(this.#text)
  }
}
