import type { Cluster } from '../../resources/cluster.ts'
import type { Command } from '../command.ts'
import { homeFlags, withClusters } from './cluster-flags.ts'
import { parseFlags } from '../flags.ts'
import { renderTable } from '../text-table.ts'

export const clusterListCommand: Command = {
  name: 'cluster list',
  summary: 'List the clusters, the home cluster among them.',
  flags: homeFlags,
  async run(args) {
    const clusters = await withClusters(parseFlags(homeFlags, args), (all) => all.list())
    console.log(renderClusters(clusters))
    return 0
  },
}

export function renderClusters(clusters: readonly Cluster[]): string {
  const rows = clusters.map(({ metadata, spec, status }) => [
    metadata.name,
    status?.id ?? '',
    status?.phase ?? 'Creating',
    spec.kubeconfigSecret ? 'attached' : 'embedded',
    spec.enterprise,
    spec.center,
    status?.controlPlane ?? '',
  ])
  return renderTable([['NAME', 'ID', 'STATUS', 'KIND', 'ENTERPRISE', 'CENTER', 'CONTROL PLANE'], ...rows])
}
