import type { UsageEntry, UsageView } from '../../../../src/management/console/console-shapes.ts'
import { element } from '../../../src/view/element.ts'
import { table } from '../view/table.ts'
import { cardTime, counted } from '../view/texts.ts'
import { svg } from './svg.ts'

const [width, height] = [720, 72]

/** What was paid for and what was not, day by day, and which models it was for. */
export function costPicture({ days, models, total }: UsageView): Node[] {
  const all = total.heldSeconds + total.savedSeconds
  if (all === 0 && total.requests === 0) return [element('p', { class: 'empty' }, 'Nothing has been counted yet.')]
  const share = all === 0 ? 0 : Math.round((100 * total.savedSeconds) / all)
  return [
    element(
      'p',
      { class: 'cost-line' },
      element('strong', {}, cardTime(total.savedSeconds)),
      ` of card time saved by sleeping (${share} %), ${cardTime(total.heldSeconds)} held, in 30 days. `,
      element('span', { class: 'faint' }, `${counted(total.requests, 'request')}, ${counted(total.tokens, 'token')}`),
    ),
    dayBars(days),
    element(
      'p',
      { class: 'picture-legend' },
      legend('cost-held', 'held'),
      legend('cost-saved', 'saved'),
      element('span', { class: 'faint' }, 'by day, UTC'),
    ),
    table(
      ['Model', 'Held', 'Saved', 'Requests', 'Tokens'],
      models.map(({ name, heldSeconds, savedSeconds, requests, tokens }) => [
        name,
        cardTime(heldSeconds),
        cardTime(savedSeconds),
        requests.toLocaleString(),
        tokens.toLocaleString(),
      ]),
    ),
  ]
}

function dayBars(days: readonly UsageEntry[]): SVGSVGElement {
  const highest = Math.max(1, ...days.map(({ heldSeconds, savedSeconds }) => heldSeconds + savedSeconds))
  const step = width / Math.max(1, days.length)
  const bars = days.flatMap(({ name, heldSeconds, savedSeconds }, at) => {
    const [held, saved] = [(heldSeconds / highest) * height, (savedSeconds / highest) * height]
    const place = { x: at * step + 1, width: Math.max(1, step - 2) }
    const words = () => svg('title', {}, `${name}: ${cardTime(heldSeconds)} held, ${cardTime(savedSeconds)} saved`)
    return [
      svg('rect', { class: 'cost-held', ...place, y: height - held, height: held }, words()),
      svg('rect', { class: 'cost-saved', ...place, y: height - held - saved, height: saved }, words()),
    ]
  })
  const label = 'Card time held and saved in each of the last 30 days'
  const about = { role: 'img', 'aria-label': label, preserveAspectRatio: 'none' }
  return svg('svg', { class: 'time-picture', viewBox: `0 0 ${width} ${height}`, ...about }, ...bars)
}

function legend(kind: string, words: string): HTMLElement {
  return element('span', { class: 'legend' }, element('span', { class: `swatch ${kind}` }), words)
}
