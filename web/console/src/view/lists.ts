import { element } from '../../../src/view/element.ts'
import type { ConsoleState } from '../state/console-state.ts'
import { section } from './sections.ts'
import { type Panel, Redrawn } from './panel.ts'
import { table } from './table.ts'

/** Where services are reached from outside. */
export function exposuresPanel(): Panel {
  return listPanel('Exposures', (state) => {
    const rows = state.list('exposure')
    return table(
      ['Address', 'Service', 'Namespace', 'Ready'],
      rows.map(({ url, service, port, namespace, ready, message }) => [
        url === undefined ? '' : element('a', { href: url, rel: 'noreferrer', target: '_blank' }, url),
        `${service}:${port}`,
        namespace,
        ready ? 'yes' : (message ?? 'no'),
      ]),
    )
  })
}

export function clustersPanel(): Panel {
  return listPanel('Clusters and centers', (state) =>
    element(
      'div',
      {},
      table(
        ['Cluster', 'ID', 'Status', 'Kind', 'Center', 'Control plane'],
        state
          .list('cluster')
          .map(({ displayName, id, phase, attached, center, controlPlane }) => [
            displayName,
            id ?? '',
            phase,
            attached ? 'attached' : 'embedded',
            center,
            controlPlane ?? '',
          ]),
      ),
      element('h3', {}, 'Compute centers'),
      table(
        ['Code', 'Name', 'Country', 'Address', 'Registry', 'Domain'],
        state
          .list('center')
          .map(({ code, name, country, address, registry, proxyDomain }) => [
            code,
            name,
            country,
            address,
            registry,
            proxyDomain,
          ]),
      ),
    ),
  )
}

function listPanel(title: string, view: (state: ConsoleState) => HTMLElement): Panel {
  const content = element('div', {})
  const redrawn = new Redrawn(content)
  return {
    element: section(title, content),
    update: (state) =>
      redrawn.draw([state.list('exposure'), state.list('cluster'), state.list('center')], () => [view(state)]),
  }
}
