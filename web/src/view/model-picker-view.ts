import { PHASE_WORDS, type ModelEntry } from '../protocol/model-list.ts'
import type { ModelDirectory } from '../session/model-watch.ts'
import { element, part } from './element.ts'

/** A native select, which works with keyboard, screen reader and phone, with the model's state as a dot and a word. */
export class ModelPickerView {
  readonly #select = part('model-picker', HTMLSelectElement)
  readonly #dot = part('model-dot', HTMLElement)
  readonly #state = part('model-state', HTMLElement)
  #drawnList = ''

  constructor(picked: (model: string) => void) {
    this.#select.addEventListener('change', () => picked(this.#select.value))
  }

  update(directory: ModelDirectory, pickedId: string): void {
    this.#drawOptions(directory)
    const picked = directory.models.find(({ id }) => id === pickedId)
    if (picked !== undefined && this.#select.value !== picked.id) this.#select.value = picked.id
    const unreachable = directory.status === 'unreachable'
    this.#dot.dataset['phase'] = unreachable ? 'Failed' : (picked?.phase ?? 'Unknown')
    this.#state.textContent = unreachable
      ? 'gateway unreachable'
      : picked === undefined
        ? ''
        : PHASE_WORDS[picked.phase]
    this.#state.title = picked?.message ?? ''
  }

  #drawOptions({ status, models }: ModelDirectory): void {
    // Only redrawn on a change, so that an open list does not change under the pointer every few seconds.
    const placeholder = status === 'loading' ? 'Looking for models…' : status === 'locked' ? 'Key needed' : 'No model'
    const list = JSON.stringify([placeholder, models.map(({ id }) => id)])
    if (list !== this.#drawnList) {
      this.#drawnList = list
      const options = models.length > 0 ? models.map(drawOption) : [element('option', { value: '' }, placeholder)]
      this.#select.replaceChildren(...options)
      this.#select.disabled = models.length === 0
    }
    for (const [index, model] of models.entries()) {
      const option = this.#select.options[index]
      if (option === undefined) continue
      option.dataset['phase'] = model.phase
      option.dataset['state'] = PHASE_WORDS[model.phase]
    }
  }
}

function drawOption({ id }: ModelEntry): HTMLOptionElement {
  return element('option', { value: id }, id)
}
