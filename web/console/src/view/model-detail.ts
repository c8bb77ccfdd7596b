import type { SessionView } from '../../../../src/management/console/console-shapes.ts'
import { element } from '../../../src/view/element.ts'
import type { ConsoleApi } from '../api/console-api.ts'
import { drawWakes } from '../pictures/wake-timeline.ts'
import type { ConsoleState } from '../state/console-state.ts'
import { ask } from './confirm-dialog.ts'
import { ManifestEditor } from './manifest-editor.ts'
import { ModelTile } from './model-tile.ts'
import { section } from './sections.ts'
import { type Panel, Redrawn } from './panel.ts'
import { eventList } from './pods-view.ts'
import { table } from './table.ts'

const shownWakes = 20

/** One model: its state, its Pods, how it woke, and what happened to it. */
export class ModelDetail implements Panel {
  readonly element: HTMLElement
  readonly #api: ConsoleApi
  readonly #name: string
  readonly #mayAct: boolean
  readonly #place = element('div', {})
  readonly #pods: Redrawn
  readonly #wakes: Redrawn
  readonly #events = element('div', {})
  #tile: ModelTile | undefined
  #phase: string | undefined

  constructor(api: ConsoleApi, name: string, { readOnly }: SessionView) {
    this.#api = api
    this.#name = name
    this.#mayAct = readOnly === undefined
    const pods = element('div', {})
    const wakes = element('ol', { class: 'wakes' })
    this.#pods = new Redrawn(pods)
    this.#wakes = new Redrawn(wakes)
    this.element = element(
      'div',
      { class: 'detail' },
      element('a', { class: 'back', href: '#/overview' }, '← Overview'),
      this.#place,
      section('Pods', pods),
      section('Wakes', wakes),
      section('Events', this.#events),
      ...(this.#mayAct ? [section('YAML', new ManifestEditor(api, name).element), this.#removal()] : []),
    )
  }

  update(state: ConsoleState, now: number): void {
    const model = state.get('model', this.#name)
    if (!model) {
      this.#place.replaceChildren(element('p', { class: 'empty' }, `There is no model ${this.#name}.`))
      this.#tile = undefined
      return
    }
    if (!this.#tile) {
      this.#tile = new ModelTile(model, this.#api, this.#mayAct)
      this.#place.replaceChildren(this.#tile.element)
    }
    this.#tile.update(model, state, now)
    const pods = state.list('pod').filter((pod) => pod.model === this.#name)
    this.#pods.draw(pods, () => [
      table(
        ['Pod', 'Status', 'Ready', 'Node'],
        pods.map(({ namespace, name, status, ready, node }) => [
          element('a', { href: `#/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}` }, name),
          status,
          ready,
          node ?? '',
        ]),
      ),
    ])
    const wakes = state.list('wake').filter((wake) => wake.model === this.#name)
    drawWakes(this.#wakes, wakes, shownWakes, now)
    if (model.phase === this.#phase) return
    this.#phase = model.phase
    void eventList(this.#api, 'Model', 'sluice', this.#name).then((list) => this.#events.replaceChildren(list))
  }

  /** Apart from everything else, so that nobody presses it by mistake. */
  #removal(): HTMLElement {
    const remove = element('button', { class: 'button danger', type: 'button' }, `Remove ${this.#name}`)
    remove.addEventListener('click', () =>
      ask({
        title: `Remove ${this.#name}?`,
        text: 'Its replicas end at once, and requests for it are refused. Its files stay where they are: it can be added again.',
        act: 'Remove',
        run: async () => {
          await this.#api.ask(`models/${encodeURIComponent(this.#name)}`, { method: 'DELETE' })
          location.hash = '#/overview'
        },
      }),
    )
    return element('p', { class: 'block' }, remove)
  }
}
