import { clusterFlags } from '../connection/cluster-place.ts'
import type { Command } from '../command.ts'
import { onlyCluster, withClusters } from './cluster-flags.ts'
import { parseFlags } from '../flags.ts'

export const clusterKubeconfigCommand: Command = {
  name: 'cluster kubeconfig',
  summary: "Print the kubeconfig of a cluster's administrator.",
  example: 'sluice cluster kubeconfig team-a > team-a.kubeconfig',
  positional: 'NAME',
  flags: clusterFlags,
  async run(args) {
    const parsed = parseFlags(clusterFlags, args)
    const name = onlyCluster(parsed)
    // Nothing else is printed, so that the output can go straight into a file.
    process.stdout.write(await withClusters(parsed, (clusters) => clusters.kubeconfig(name)))
    return 0
  },
}
