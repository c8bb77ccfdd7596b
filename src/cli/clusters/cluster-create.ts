import { clusterFlags } from '../connection/cluster-place.ts'
import type { Command, Flag } from '../command.ts'
import { onlyCluster, waitFlag, waitMs, withClusters } from './cluster-flags.ts'
import { parseQuota } from './cluster-quota.ts'
import { clusterLines } from './cluster-show.ts'
import { parseFlags } from '../flags.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { renderObject } from '../output/print-output.ts'
import { clusterListing } from './cluster-list.ts'

const flags: readonly Flag[] = [
  ...clusterFlags,
  { name: 'display-name', value: 'TEXT', help: 'what people call it (default: NAME)' },
  { name: 'enterprise', value: 'NAME', help: "whose it is (default: the home cluster's)" },
  { name: 'center', value: 'CODE', help: "its compute center (default: the home cluster's)" },
  {
    name: 'quota',
    value: 'RESOURCE=AMOUNT,...',
    help: 'what it has of the machine, such as cpu=4,memory=16Gi,nvidia.com/gpu-l40s=1 (default: everything)',
  },
  { name: 'attach', value: 'FILE', help: 'the kubeconfig of a Kubernetes that runs elsewhere, with everything in it' },
  waitFlag,
  outputFlag,
]

export const clusterCreateCommand: Command = {
  name: 'cluster create',
  summary: 'Make a cluster beside the home cluster, or attach one that runs elsewhere.',
  example: 'sluice cluster create team-a --quota cpu=4,memory=16Gi',
  positional: 'NAME',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const name = onlyCluster(parsed)
    const quota = parsed.text('quota')
    const asked = {
      name,
      displayName: parsed.text('display-name'),
      enterprise: parsed.text('enterprise'),
      center: parsed.text('center'),
      quota: quota === undefined ? undefined : parseQuota(quota),
      attach: parsed.text('attach'),
    }
    const cluster = await withClusters(parsed, async (clusters) => {
      await clusters.create(asked)
      return clusters.settled(name, waitMs(parsed))
    })
    process.stdout.write(await renderObject(cluster, clusterListing, form, clusterLines(cluster)))
    return cluster.status?.phase === 'Running' ? 0 : 1
  },
}
