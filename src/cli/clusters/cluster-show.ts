import type { Cluster } from '../../resources/cluster.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import type { Command } from '../command.ts'
import { onlyCluster, withClusters } from './cluster-flags.ts'
import { parseFlags } from '../flags.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { renderObject } from '../output/print-output.ts'
import { clusterListing } from './cluster-list.ts'

const flags = [...clusterFlags, outputFlag]

export const clusterShowCommand: Command = {
  name: 'cluster show',
  summary: 'Say how a cluster is, by its name or its ID.',
  example: 'sluice cluster show team-a',
  positional: 'NAME',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const name = onlyCluster(parsed)
    const cluster = await withClusters(parsed, (clusters) => clusters.find(name))
    process.stdout.write(await renderObject(cluster, clusterListing, form, clusterLines(cluster)))
    return 0
  },
}

export function clusterLines({ metadata, spec, status }: Cluster): string[] {
  const said = status?.conditions?.find(({ type }) => type === 'Ready')
  const phase = status?.phase ?? 'Creating'
  const quota = Object.entries(spec.quota ?? {}).map(([resource, amount]) => `${resource}=${amount}`)
  const { kubeconfigSecret: attached } = spec
  const lines = {
    Name: metadata.name,
    'Display name': spec.displayName,
    ID: status?.id ?? 'not yet',
    Status: phase === 'Running' ? phase : `${phase} (${said?.reason ?? 'Starting'}: ${said?.message ?? ''})`,
    Kind: attached ? `attached, by the Secret ${attached.namespace}/${attached.name}` : 'embedded',
    'Control plane': status?.controlPlane ?? 'not yet',
    Enterprise: spec.enterprise,
    Center: spec.center,
    Quota: quota.join(', ') || 'none',
    'When deleted': attached ? 'nothing happens to it' : spec.deletionPolicy === 'Delete' ? 'data go' : 'data are kept',
  }
  return Object.entries(lines).map(([label, text]) => `${`${label}:`.padEnd(15)} ${text}`)
}
