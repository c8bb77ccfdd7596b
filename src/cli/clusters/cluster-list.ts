import { type Cluster, clusterKind } from '../../resources/cluster.ts'
import type { Command } from '../command.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import { parseFlags } from '../flags.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { type Listing, print, renderList, shownResource } from '../output/print-output.ts'
import { withClusters } from './cluster-flags.ts'

const flags = [...clusterFlags, outputFlag]

export const clusterListCommand: Command = {
  name: 'cluster list',
  summary: 'List the clusters, the home cluster among them.',
  example: 'sluice cluster list',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const clusters = await withClusters(parsed, (all) => all.list())
    print(await renderList(clusters, clusterListing, form))
    return 0
  },
}

export const clusterListing: Listing<Cluster> = {
  resource: shownResource(clusterKind),
  nameOf: ({ metadata }) => metadata.name,
  columns: [
    { title: 'NAME', text: ({ metadata }) => metadata.name },
    { title: 'ID', text: ({ status }) => status?.id ?? '' },
    { title: 'STATUS', text: ({ status }) => status?.phase ?? 'Creating' },
    { title: 'KIND', text: ({ spec }) => (spec.kubeconfigSecret ? 'attached' : 'embedded') },
    { title: 'ENTERPRISE', text: ({ spec }) => spec.enterprise },
    { title: 'CENTER', text: ({ spec }) => spec.center },
    { title: 'CONTROL PLANE', text: ({ status }) => status?.controlPlane ?? '' },
    { title: 'DISPLAY NAME', wide: true, text: ({ spec }) => spec.displayName },
    { title: 'CREATED', wide: true, text: ({ metadata }) => metadata.creationTimestamp ?? '' },
  ],
  none: 'There are no clusters. `sluice cluster create NAME` makes one.',
}
