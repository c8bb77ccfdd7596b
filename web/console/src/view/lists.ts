import { element } from '../../../src/view/element.ts'
import type { ConsoleState } from '../state/console-state.ts'
import { section } from './sections.ts'
import { type Panel, Redrawn } from './panel.ts'
import { table } from './table.ts'

/** Where services are reached from outside. */
export function exposuresPanel(): Panel {
  return listPanel((state) => {
    const rows = state.list('exposure')
    const shown = table(
      ['Address', 'Service', 'Namespace', 'Ready'],
      rows.map(({ url, service, port, namespace, ready, message }) => [
        url === undefined ? '' : element('a', { href: url, rel: 'noreferrer', target: '_blank' }, url),
        `${service}:${port}`,
        namespace,
        ready ? 'yes' : (message ?? 'no'),
      ]),
      'Nothing is exposed. A ServiceExporter gives a Service an address outside of the cluster.',
    )
    return [section('Exposures', shown)]
  })
}

export function clustersPanel(): Panel {
  return listPanel((state) => [
    section(
      'Clusters',
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
    ),
    section(
      'Compute centers',
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
  ])
}

function listPanel(view: (state: ConsoleState) => HTMLElement[]): Panel {
  const content = element('div', {})
  const redrawn = new Redrawn(content)
  return {
    element: content,
    update: (state) =>
      redrawn.draw([state.list('exposure'), state.list('cluster'), state.list('center')], () => view(state)),
  }
}
