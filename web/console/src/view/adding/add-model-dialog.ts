import type { ModelFoldersView, SessionView } from '../../../../../src/management/console/console-shapes.ts'
import { element } from '../../../../src/view/element.ts'
import type { ConsoleApi } from '../../api/console-api.ts'
import { ask } from '../confirm-dialog.ts'
import { field } from '../form-dialog.ts'
import { type ModelSource, modelSources } from './model-sources.ts'

const noFolders: ModelFoldersView = { root: '', folders: [] }

/** Asks which model to add, and from where. */
export async function askToAddModel(api: ConsoleApi, session: SessionView): Promise<void> {
  const known = await api.ask<ModelFoldersView>('model-folders').catch(() => noFolders)
  const sources = new SourceChoice(modelSources(session, known))
  const name = field('model-name', { label: 'Name', hint: 'What clients call it.' })
  const engine = field('model-engine', {
    label: 'Engine',
    hint: 'LlamaCpp for GGUF files, VLLM for folders, or another of the cluster.',
    value: 'LlamaCpp',
    list: 'model-engines',
  })
  const profile = field('model-profile', {
    label: 'Cards of a replica',
    hint: 'Such as nvidia.com/gpu-l40s:2',
    value: 'default:1',
  })
  const most = field('model-max', { label: 'Replicas at most', type: 'number', min: '1', value: '1' })
  let guessed = ''
  sources.onChange = () => {
    if (name.input.value !== guessed) return
    guessed = sources.chosen.usualName()
    name.input.value = guessed
  }
  const engines = element('datalist', { id: 'model-engines' }, option('LlamaCpp'), option('VLLM'))
  ask({
    title: 'Add a model',
    text: 'It sleeps until somebody asks for it, and costs nothing until then.',
    act: 'Add',
    field: element(
      'div',
      {},
      sources.element,
      name.row,
      engines,
      engine.row,
      element('div', { class: 'side-by-side' }, profile.row, most.row),
    ),
    run: async () =>
      sources.chosen.add(api, {
        name: name.input.value.trim(),
        engine: engine.input.value.trim(),
        resourceProfile: profile.input.value.trim(),
        maxReplicas: Number(most.input.value),
      }),
  })
}

/** Shows one of the sources, and lets one choose which. */
class SourceChoice {
  readonly element: HTMLElement
  readonly #fields: ReadonlyMap<ModelSource, HTMLFieldSetElement>
  #chosen: ModelSource
  onChange: () => void = () => {}

  constructor(sources: readonly ModelSource[]) {
    const [first] = sources
    if (!first) throw new Error('there is no way to add a model')
    this.#chosen = first
    this.#fields = new Map(
      sources.map((source) => [
        source,
        element('fieldset', { class: 'source', 'aria-label': source.title }, ...source.rows),
      ]),
    )
    const choices = sources.map((source, at) => this.#choice(source, `source-${at}`))
    const group = { class: 'source-choice', role: 'radiogroup', 'aria-label': 'Where it comes from' }
    this.element = element('div', {}, element('div', group, ...choices.flat()), ...this.#fields.values())
    this.element.addEventListener('change', () => this.onChange())
    this.#show(first)
  }

  get chosen(): ModelSource {
    return this.#chosen
  }

  #choice(source: ModelSource, id: string): readonly HTMLElement[] {
    const input = element('input', { id, type: 'radio', name: 'source', checked: source === this.#chosen })
    input.addEventListener('change', () => this.#show(source))
    return [input, element('label', { for: id }, source.title)]
  }

  /** What is not shown is not asked for, either. */
  #show(chosen: ModelSource): void {
    this.#chosen = chosen
    for (const [source, fields] of this.#fields) {
      fields.hidden = source !== chosen
      fields.disabled = source !== chosen
    }
  }
}

function option(value: string): HTMLElement {
  return element('option', { value })
}
