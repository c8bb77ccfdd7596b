import { canDo, PHASE_WORDS, phaseOf, type ModelEntry } from '../protocol/model-list.ts'
import type { ModelDirectory } from '../session/model-watch.ts'
import { element, part } from './element.ts'

/** Where a select cannot be styled, its options are nothing but text, which then has to tell the state, too. */
const OPTIONS_ARE_STYLED = CSS.supports('appearance', 'base-select')

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
    this.#dot.dataset['phase'] = unreachable ? 'Failed' : picked === undefined ? 'Unknown' : phaseOf(picked)
    this.#state.textContent = unreachable ? 'gateway unreachable' : picked === undefined ? '' : stateText(picked)
  }

  #drawOptions({ status, models: all }: ModelDirectory): void {
    const models = all.filter((model) => canDo(model, 'TextGeneration'))
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
      option.dataset['phase'] = phaseOf(model)
      option.dataset['state'] = PHASE_WORDS[phaseOf(model)]
      if (!OPTIONS_ARE_STYLED) option.text = `${model.id} (${PHASE_WORDS[phaseOf(model)]})`
    }
  }
}

function drawOption({ id }: ModelEntry): HTMLOptionElement {
  return element('option', { value: id }, id)
}

function stateText(model: ModelEntry): string {
  const percent = model.phase === 'Waking' ? model.loading?.percent : undefined
  return percent === undefined ? PHASE_WORDS[phaseOf(model)] : `waking, ${Math.floor(percent)} %`
}
