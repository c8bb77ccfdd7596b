import { element } from '../../../src/view/element.ts'
import type { ConsoleApi } from '../api/console-api.ts'
import { ask } from './confirm-dialog.ts'

/** The YAML of a model: checked by the cluster before it is saved. */
export class ManifestEditor {
  readonly element: HTMLElement
  readonly #api: ConsoleApi
  readonly #path: string
  readonly #text = element('textarea', { id: 'manifest', rows: '22', spellcheck: 'false', 'aria-label': 'YAML' })
  readonly #note = element('p', { class: 'editor-note', role: 'status' })
  readonly #buttons: readonly HTMLButtonElement[]

  constructor(api: ConsoleApi, model: string) {
    this.#api = api
    this.#path = `models/${encodeURIComponent(model)}/manifest`
    const check = element('button', { class: 'button', type: 'button' }, 'Check')
    const save = element('button', { class: 'button primary', type: 'button' }, 'Save')
    const again = element('button', { class: 'button', type: 'button' }, 'Read again')
    this.#buttons = [check, save, again]
    check.addEventListener('click', () => void this.#send(true))
    save.addEventListener('click', () =>
      ask({
        title: `Save ${model}?`,
        text: 'Replicas that run are replaced if what they are made from changes.',
        act: 'Save it',
        run: () => this.#send(false),
      }),
    )
    again.addEventListener('click', () => void this.#read())
    this.element = element(
      'div',
      { class: 'editor' },
      this.#text,
      this.#note,
      element('div', { class: 'model-actions' }, check, save, again),
    )
    void this.#read()
  }

  async #read(): Promise<void> {
    await this.#try(async () => {
      this.#text.value = (await this.#api.ask<{ yaml: string }>(this.#path)).yaml
      return ''
    })
  }

  async #send(dryRun: boolean): Promise<void> {
    await this.#try(async () => {
      await this.#api.ask(this.#path, { method: 'PUT', body: { yaml: this.#text.value, dryRun } })
      if (dryRun) return 'The cluster would take this.'
      this.#text.value = (await this.#api.ask<{ yaml: string }>(this.#path)).yaml
      return 'Saved.'
    })
  }

  async #try(run: () => Promise<string>): Promise<void> {
    for (const button of this.#buttons) button.disabled = true
    try {
      this.#say(await run(), false)
    } catch (error) {
      this.#say(error instanceof Error ? error.message : String(error), true)
    } finally {
      for (const button of this.#buttons) button.disabled = false
    }
  }

  #say(words: string, isFailure: boolean): void {
    this.#note.textContent = words
    this.#note.classList.toggle('is-failure', isFailure)
  }
}
