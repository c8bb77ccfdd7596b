import type { HistoryPart } from '../../../../src/management/console/console-shapes.ts'
import { shownSpan } from './shown-span.ts'
import { stackedSteps } from './stacked-steps.ts'
import { svg } from './svg.ts'

const [width, height] = [240, 32]

/** Requests of a model over the last hour: those being answered, and on top of them those that waited. */
export function trafficLine(model: string, { samples }: HistoryPart): SVGSVGElement {
  const both = samples.map(({ requests }) => {
    const [active, waiting] = requests[model] ?? [0, 0]
    return { active, waiting }
  })
  const peak = both.reduce((most, { active, waiting }) => Math.max(most, active + waiting), 0)
  const layers = stackedSteps(both, { width, height, top: Math.max(peak, 1), places: shownSpan(samples.length).places })
  const label =
    peak === 0
      ? `${model}: no requests seen in the last hour`
      : `${model}: at most ${round(peak)} requests at a time in the last hour`
  return svg(
    'svg',
    {
      class: 'traffic-line',
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': label,
    },
    svg('line', { class: 'base-line', x1: 0, x2: width, y1: height, y2: height }),
    ...layers.map(({ name, path }) => svg('path', { class: `traffic-${name}`, d: path })),
  )
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
