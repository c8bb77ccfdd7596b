import type { SessionView } from '../../../../src/management/console/console-shapes.ts'
import { element } from '../../../src/view/element.ts'
import type { ConsoleApi } from '../api/console-api.ts'
import { cardSquares, cardsOverTime, heldShare, shownHolders } from '../pictures/card-pictures.ts'
import { costPicture } from '../pictures/cost-picture.ts'
import { shownSpan } from '../pictures/shown-span.ts'
import { holderClass } from '../pictures/svg.ts'
import { drawWakes, phaseLegend } from '../pictures/wake-timeline.ts'
import type { ConsoleState } from '../state/console-state.ts'
import { askToAddModel } from './adding/add-model-dialog.ts'
import { ModelTile } from './model-tile.ts'
import { nodeTiles } from './node-tiles.ts'
import { type Panel, Redrawn } from './panel.ts'
import { pullList } from './adding/pull-list.ts'
import { section, sectionWith } from './sections.ts'
import { counted } from './texts.ts'

const shownWakes = 8

/** What a person wants to know first: what runs, what it holds, how busy it is. */
export class Overview implements Panel {
  readonly element: HTMLElement
  readonly #api: ConsoleApi
  readonly #mayAct: boolean
  readonly #tiles = new Map<string, ModelTile>()
  readonly #grid = element('div', { class: 'model-grid' })
  readonly #empty = element('p', { class: 'empty', hidden: true }, 'No model yet.')
  readonly #headline: Redrawn
  readonly #cards: Redrawn
  readonly #pulls: Redrawn
  readonly #wakes: Redrawn
  readonly #nodes: Redrawn
  readonly #cost: Redrawn

  constructor(api: ConsoleApi, session: SessionView) {
    this.#api = api
    const mayAct = session.readOnly === undefined
    this.#mayAct = mayAct
    const headline = element('p', { class: 'headline' })
    const cards = element('div', { class: 'card-kinds' })
    const pulls = element('div', { class: 'model-grid' })
    const wakes = element('ol', { class: 'wakes' })
    const nodes = element('div', { class: 'node-grid' })
    const cost = element('div', { class: 'tile cost' })
    this.#headline = new Redrawn(headline)
    this.#cards = new Redrawn(cards)
    this.#pulls = new Redrawn(pulls)
    this.#wakes = new Redrawn(wakes)
    this.#nodes = new Redrawn(nodes)
    this.#cost = new Redrawn(cost)
    const add = element('button', { class: 'button', type: 'button' }, 'Add a model')
    add.addEventListener('click', () => void askToAddModel(api, session))
    this.element = element(
      'div',
      { class: 'overview' },
      headline,
      section('Cards', cards),
      sectionWith('Models', mayAct ? [add] : [], this.#grid, pulls, this.#empty),
      section('Cost and savings', cost),
      section('Wakes', wakes, phaseLegend()),
      section('Nodes', nodes),
    )
  }

  update(state: ConsoleState, now: number): void {
    this.#updateHeadline(state)
    this.#updateCards(state)
    this.#updateModels(state, now)
    const pulls = state.list('pull')
    this.#pulls.draw(pulls, () => pullList(this.#api, pulls))
    drawWakes(this.#wakes, state.list('wake'), shownWakes, now)
    const usage = state.get('usage', 'month')
    this.#cost.draw(usage, () => (usage ? costPicture(usage) : []))
    const nodes = state.list('node')
    this.#nodes.draw(nodes, () => nodes.map(nodeTiles))
  }

  #updateHeadline(state: ConsoleState): void {
    const models = state.list('model')
    const awake = models.filter(({ wanted, ready }) => wanted > 0 || ready > 0).length
    const asking = models.reduce((sum, { active = 0, waiting = 0 }) => sum + active + waiting, 0)
    const cards = state.list('card')
    const total = cards.reduce((sum, card) => sum + card.total, 0)
    const held = cards.flatMap(({ holders }) => holders).reduce((sum, holder) => sum + holder.cards, 0)
    this.#headline.draw([awake, models.length, asking, held, total], () => [
      figure(`${held} / ${total}`, 'cards held'),
      figure(`${awake} / ${models.length}`, 'models awake'),
      figure(String(asking), asking === 1 ? 'request now' : 'requests now'),
    ])
  }

  #updateCards(state: ConsoleState): void {
    const cards = state.list('card')
    const { recent } = state
    const span = shownSpan(recent.samples.length)
    this.#cards.draw([cards, recent.samples.at(-1)?.at], () =>
      cards.map((card) => {
        const share = heldShare(card, recent)
        const held = card.holders.reduce((sum, holder) => sum + holder.cards, 0)
        const time =
          share === undefined
            ? ''
            : `held ${Math.round(share * 100)} % of the last ${minutesText(recent.samples.length)}`
        return element(
          'section',
          { class: 'tile card-kind', 'aria-label': card.displayName },
          element(
            'header',
            {},
            element('h3', {}, card.displayName),
            element('span', { class: 'faint' }, `${held} of ${card.total} held`),
          ),
          cardSquares(card),
          cardsOverTime(card, recent, span),
          element(
            'p',
            { class: 'axis', 'aria-hidden': 'true' },
            element('span', {}, span.words),
            element('span', {}, 'now'),
          ),
          element(
            'p',
            { class: 'picture-legend' },
            ...legend(shownHolders(card, recent)),
            element('span', { class: 'faint' }, time),
          ),
        )
      }),
    )
  }

  #updateModels(state: ConsoleState, now: number): void {
    const models = state.list('model')
    this.#empty.hidden = models.length > 0
    for (const model of models) {
      let tile = this.#tiles.get(model.name)
      if (!tile) {
        tile = new ModelTile(model, this.#api, this.#mayAct)
        this.#tiles.set(model.name, tile)
        this.#insert(model.name, tile.element)
      }
      tile.update(model, state, now)
    }
    const there = new Set(models.map(({ name }) => name))
    for (const [name, tile] of this.#tiles) {
      if (there.has(name)) continue
      tile.element.remove()
      this.#tiles.delete(name)
    }
  }

  #insert(name: string, tile: HTMLElement): void {
    const after = [...this.#grid.children].find(
      (other) => other instanceof HTMLElement && (other.dataset['model'] ?? '') > name,
    )
    this.#grid.insertBefore(tile, after ?? null)
  }
}

function figure(value: string, words: string): HTMLElement {
  return element('span', { class: 'figure' }, element('strong', {}, value), ` ${words}`)
}

function legend(names: readonly string[]): HTMLElement[] {
  return names.map((name) =>
    element(
      'span',
      { class: 'legend' },
      element('span', { class: `swatch ${holderClass(name)}`, 'aria-hidden': 'true' }),
      name || 'other',
    ),
  )
}

function minutesText(samples: number): string {
  const minutes = Math.max(1, Math.round(samples / 6))
  return minutes >= 60 ? 'hour' : minutes === 1 ? 'minute' : counted(minutes, 'minute')
}
