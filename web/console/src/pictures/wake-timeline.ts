import type { WakeView } from '../../../../src/management/console/console-shapes.ts'
import { element } from '../../../src/view/element.ts'
import type { Redrawn } from '../view/panel.ts'
import { durationText } from '../view/texts.ts'
import { svg } from './svg.ts'

const width = 480
const height = 10
/** A step that took a moment is still to be seen. */
const narrowest = 3

const phases = ['Placing', 'Starting', 'Copying', 'Reading', 'Loading', 'Preparing']

export function phaseLegend(): HTMLElement {
  const names = phases.map((name) =>
    element('span', { class: 'legend' }, element('span', { class: `swatch swatch-${name.toLowerCase()}` }), name),
  )
  return element('p', { class: 'picture-legend phases faint', 'aria-hidden': 'true' }, ...names)
}

/** Draws the newest starts, on one scale. While one goes on, its bar grows. */
export function drawWakes(into: Redrawn, wakes: readonly WakeView[], most: number, now: number): void {
  const startedAt = ({ steps }: WakeView) => steps[0]?.at ?? now
  const newest = wakes.toSorted((one, other) => startedAt(other) - startedAt(one)).slice(0, most)
  const isGoingOn = newest.some(({ endedAt }) => endedAt === undefined)
  const longest = Math.max(1_000, ...newest.map((wake) => (wake.endedAt ?? now) - startedAt(wake)))
  into.draw([newest, isGoingOn ? Math.floor(now / 500) : 0], () =>
    newest.length === 0
      ? [element('li', { class: 'empty' }, 'No model has woken since Sluice was started.')]
      : newest.map((wake) => wakeTimeline(wake, longest, now)),
  )
}

/** One start of a Pod as a bar of its phases, on a scale that the longest of them fills. */
function wakeTimeline(wake: WakeView, longestMs: number, now: number): HTMLElement {
  const { steps, model, outcome } = wake
  const startedAt = steps[0]?.at ?? now
  const endedAt = wake.endedAt ?? now
  const scale = width / Math.max(longestMs, 1)
  const parts = steps.map((step, at) => {
    const ends = steps[at + 1]?.at ?? endedAt
    return { name: step.name, x: (step.at - startedAt) * scale, ms: Math.max(0, ends - step.at) }
  })
  const words = parts.map(({ name, ms }) => `${name} ${durationText(ms)}`).join(', ')
  const bars = parts.map(({ name, x, ms }) =>
    svg(
      'rect',
      {
        class: `phase phase-${name.toLowerCase()}`,
        x,
        y: 0,
        width: Math.max(narrowest, ms * scale - 1),
        height,
        rx: 2,
      },
      svg('title', {}, `${name}: ${durationText(ms)}`),
    ),
  )
  const picture = svg(
    'svg',
    {
      class: 'wake-bar',
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': words,
    },
    ...bars,
  )
  const state = outcome ?? 'waking'
  return element(
    'li',
    { class: `wake is-${state}` },
    element('span', { class: 'wake-model' }, model),
    picture,
    element(
      'span',
      { class: 'wake-time' },
      `${outcome === 'ready' ? '' : `${state} · `}${durationText(endedAt - startedAt)}`,
    ),
    element('time', { class: 'wake-when', datetime: new Date(startedAt).toISOString() }, clockText(startedAt)),
  )
}

function clockText(at: number): string {
  return new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false })
}
