import type { CardView, HistoryPart } from '../../../../src/management/console/console-shapes.ts'
import { element } from '../../../src/view/element.ts'
import type { ShownSpan } from './shown-span.ts'
import { stackedSteps } from './stacked-steps.ts'
import { holderClass, svg } from './svg.ts'

const uses = { starting: 'starting', active: 'answering', idle: 'waiting for requests', other: 'not a model' }
/** More cards than this are shown as one bar. */
const mostSquares = 64

/** A square for each card of a kind, in the colour of who holds it. */
export function cardSquares({ holders, total }: CardView): HTMLElement {
  const squares: HTMLElement[] = []
  for (const { model, pod, cards, use } of holders) {
    for (let card = 0; card < cards && squares.length < mostSquares; card += 1) {
      const label = `${model ?? pod}: ${uses[use]}`
      const kind = `card-square ${holderClass(model ?? '')} is-${use}`
      squares.push(element('li', { class: kind, title: label }, element('span', { class: 'visually-hidden' }, label)))
    }
  }
  const shown = Math.min(total, mostSquares)
  while (squares.length < shown) {
    squares.push(
      element(
        'li',
        { class: 'card-square is-free', title: 'free' },
        element('span', { class: 'visually-hidden' }, 'free'),
      ),
    )
  }
  return element('ul', { class: 'card-squares' }, ...squares)
}

const width = 720
const height = 72

/** Who held the cards of a kind over time. */
export function cardsOverTime(card: CardView, { samples }: HistoryPart, { places, words }: ShownSpan): SVGSVGElement {
  const held = samples.map(({ cards }) => cards[card.name] ?? {})
  const layers = stackedSteps(held, { width, height, top: Math.max(card.total, 1), places })
  const lines = [1, 2, 3].map((line) =>
    svg('line', { class: 'grid-line', x1: (width * line) / 4, x2: (width * line) / 4, y1: 0, y2: height }),
  )
  return svg(
    'svg',
    {
      class: 'time-picture',
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': `Who held ${card.displayName} cards since ${words}: ${holdersText(held)}`,
    },
    ...lines,
    ...layers.map(({ name, path }) =>
      svg('path', { class: `layer ${holderClass(name)}`, d: path }, svg('title', {}, name || 'not a model')),
    ),
  )
}

/** Everybody who has a colour in the pictures of a kind: those who hold cards now, and those who did. */
export function shownHolders({ name, holders }: CardView, { samples }: HistoryPart): string[] {
  const now = holders.map(({ model }) => model ?? '')
  const before = samples.flatMap(({ cards }) => Object.keys(cards[name] ?? {}))
  return [...new Set([...now, ...before])]
}

/** The part of the time that cards were held, from 0 to 1; `undefined` before anything was seen. */
export function heldShare({ name, total }: CardView, { samples }: HistoryPart): number | undefined {
  if (samples.length === 0 || total === 0) return undefined
  const sum = (cards: Readonly<Record<string, number>> = {}) =>
    Object.values(cards).reduce((total_, held) => total_ + held, 0)
  return samples.reduce((all, { cards }) => all + sum(cards[name]), 0) / (samples.length * total)
}

function holdersText(held: ReadonlyArray<Readonly<Record<string, number>>>): string {
  const names = [...new Set(held.flatMap((sample) => Object.keys(sample)))].sort()
  return names.length === 0 ? 'nobody' : names.map((name) => name || 'something else').join(', ')
}
