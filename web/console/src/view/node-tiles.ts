import type { NodeView, Share } from '../../../../src/management/console/console-shapes.ts'
import { element } from '../../../src/view/element.ts'
import { svg } from '../pictures/svg.ts'
import { counted, gibibytes } from './texts.ts'

/** A node: what of it is asked for. */
export function nodeTiles({ name, ready, pods, cpu, memory, version }: NodeView): HTMLElement {
  return element(
    'article',
    { class: 'tile node', 'aria-label': `Node ${name}` },
    element(
      'header',
      {},
      element('h3', {}, name),
      element('span', { class: `state ${ready ? 'is-ready' : 'is-failed'}` }, ready ? 'Ready' : 'Not ready'),
    ),
    meter('Cores', cpu, `${Math.round(cpu.used * 10) / 10} of ${Math.round(cpu.total * 10) / 10}`),
    meter('Memory', memory, `${gibibytes(memory.used)} of ${gibibytes(memory.total)}`),
    element('p', { class: 'faint' }, [counted(pods, 'Pod'), ...(version === undefined ? [] : [version])].join(' · ')),
  )
}

function meter(label: string, { used, total }: Share, words: string): HTMLElement {
  const share = total === 0 ? 0 : Math.min(1, used / total)
  const about = { role: 'img', 'aria-label': `${label}: ${words} asked for` }
  return element(
    'div',
    { class: 'meter' },
    element('span', {}, label),
    svg(
      'svg',
      { class: 'meter-bar', viewBox: '0 0 100 4', preserveAspectRatio: 'none', ...about },
      svg('rect', { class: 'meter-all', width: 100, height: 4 }),
      svg('rect', { class: 'meter-used', width: share * 100, height: 4 }),
    ),
    element('span', { class: 'faint' }, words),
  )
}
