import type { PullView } from '../../../../../src/management/console/console-shapes.ts'
import { element } from '../../../../src/view/element.ts'
import type { ConsoleApi } from '../../api/console-api.ts'
import { sizeText } from '../texts.ts'

/** Models that are being fetched or uploaded. Those that are there have a tile of their own. */
export function pullList(api: ConsoleApi, pulls: readonly PullView[]): HTMLElement[] {
  return pulls.filter(({ state }) => state !== 'done').map((pull) => pullTile(api, pull))
}

const words = {
  fetched: { going: 'Fetching', failed: 'Not fetched', stop: 'Stop fetching' },
  uploaded: { going: 'Uploading', failed: 'Not uploaded', stop: 'Stop uploading' },
}

function pullTile(api: ConsoleApi, { name, source, way, state, bytes, totalBytes, message }: PullView): HTMLElement {
  const { going, failed, stop } = words[way]
  const isFetching = state === 'fetching'
  const percent = totalBytes === 0 ? undefined : Math.floor((100 * bytes) / totalBytes)
  const bar = element('progress', {
    max: '100',
    'aria-label': `${name} is ${way}`,
    ...(percent === undefined ? {} : { value: String(percent) }),
  })
  const howFar = percent === undefined ? 'asking…' : `${percent} % of ${sizeText(totalBytes)}`
  const button = element(
    'button',
    { class: 'button', type: 'button', 'aria-label': `${isFetching ? stop : 'Dismiss'} ${name}` },
    isFetching ? 'Stop' : 'Dismiss',
  )
  button.addEventListener(
    'click',
    () => void api.ask(`pulls/${encodeURIComponent(name)}`, { method: 'DELETE' }).catch(() => {}),
  )
  return element(
    'article',
    { class: 'tile model', 'aria-label': `${going} ${name}` },
    element(
      'header',
      {},
      element('h3', {}, name),
      element('span', { class: `state ${isFetching ? 'is-waking' : 'is-failed'}` }, isFetching ? going : failed),
    ),
    element('p', { class: 'model-line faint' }, source),
    ...(isFetching
      ? [element('div', { class: 'loading' }, bar, element('span', {}, howFar))]
      : [element('p', { class: 'model-problem' }, message ?? '')]),
    element('div', { class: 'model-actions' }, button),
  )
}
