import { AnswerError } from '../protocol/failure.ts'
import { withoutPodNames } from '../conversation/waking-words.ts'
import { canRecord, Recording } from '../speech/recording.ts'
import { element, icon, part } from './element.ts'

export interface DictationActions {
  /** Gives the words of what was said. */
  transcribe: (speech: Blob, model: string, signal: AbortSignal) => Promise<string>
  /** Takes the words. */
  said: (text: string) => void
}

type State =
  | { kind: 'idle' }
  | { kind: 'asking' }
  | { kind: 'recording'; recording: Recording }
  | { kind: 'transcribing'; stop: AbortController }

const LABELS: Record<State['kind'], string> = {
  idle: 'Dictate',
  asking: 'Waiting for the microphone',
  recording: 'Stop and write it down',
  transcribing: 'Cancel',
}

/** Speaks instead of typing, where a model transcribes: press, speak, press again, and the words are in the message. */
export class DictationButton {
  readonly #button = part('dictate', HTMLButtonElement)
  readonly #problem = part('composer-problem', HTMLElement)
  readonly #actions: DictationActions
  #model: string | undefined
  #state: State = { kind: 'idle' }

  constructor(actions: DictationActions) {
    this.#actions = actions
    this.#button.addEventListener('click', () => this.#press())
    this.#button.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.#cancel()
    })
    addEventListener('pagehide', () => this.#cancel())
  }

  /** `model`: the one that transcribes, if there is one. */
  update(model: string | undefined): void {
    this.#model = model
    this.#button.hidden = this.#state.kind === 'idle' && (model === undefined || !canRecord())
  }

  #press(): void {
    const state = this.#state
    if (state.kind === 'idle') this.#run(this.#record())
    else if (state.kind === 'recording') this.#run(this.#write(state.recording))
    else if (state.kind === 'transcribing') this.#cancel()
  }

  #run(work: Promise<void>): void {
    void work.catch((error: unknown) => {
      if (this.#state.kind !== 'idle') this.#tell(problemOf(error))
      this.#become({ kind: 'idle' })
    })
  }

  async #record(): Promise<void> {
    this.#tell('')
    this.#become({ kind: 'asking' })
    const recording = await Recording.start(() => this.#press())
    this.#become({ kind: 'recording', recording })
    this.#tell('Listening. Press again when you have spoken; Escape throws it away.')
  }

  async #write(recording: Recording): Promise<void> {
    const stop = new AbortController()
    this.#become({ kind: 'transcribing', stop })
    const model = this.#model
    if (model === undefined) throw new AnswerError({ message: 'The speech model is gone.', code: '' })
    this.#tell(`${model} writes down what you said…`)
    const text = await this.#actions.transcribe(await recording.finish(), model, stop.signal)
    if (stop.signal.aborted) return
    this.#tell(text === '' ? 'Nothing was understood.' : '')
    this.#become({ kind: 'idle' })
    if (text !== '') this.#actions.said(text)
  }

  #cancel(): void {
    const state = this.#state
    if (state.kind === 'recording') state.recording.cancel()
    if (state.kind === 'transcribing') state.stop.abort()
    if (state.kind === 'idle' || state.kind === 'asking') return
    this.#become({ kind: 'idle' })
    this.#tell('')
  }

  #become(state: State): void {
    this.#state = state
    const label = LABELS[state.kind]
    this.#button.dataset['state'] = state.kind
    this.#button.setAttribute('aria-label', label)
    this.#button.title = label
    this.#button.replaceChildren(
      state.kind === 'idle' ? icon('microphone') : element('span', { class: 'dictation-mark', 'aria-hidden': 'true' }),
    )
    this.update(this.#model)
  }

  #tell(text: string): void {
    this.#problem.textContent = text
  }
}

function problemOf(error: unknown): string {
  if (error instanceof AnswerError) return withoutPodNames(error.failure.message)
  if (error instanceof DOMException && error.name === 'NotAllowedError') {
    return 'The browser does not let this page use the microphone.'
  }
  if (error instanceof DOMException && error.name === 'NotFoundError') return 'There is no microphone.'
  return 'What you said could not be written down.'
}
