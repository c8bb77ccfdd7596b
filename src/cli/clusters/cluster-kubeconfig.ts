import type { Command } from '../command.ts'
import { homeFlags, onlyCluster, withClusters } from './cluster-flags.ts'
import { parseFlags } from '../flags.ts'

export const clusterKubeconfigCommand: Command = {
  name: 'cluster kubeconfig',
  summary: "Print the kubeconfig of a cluster's administrator.",
  positional: 'NAME',
  flags: homeFlags,
  async run(args) {
    const parsed = parseFlags(homeFlags, args)
    const name = onlyCluster(parsed)
    // Nothing else is printed, so that the output can go straight into a file.
    process.stdout.write(await withClusters(parsed, (clusters) => clusters.kubeconfig(name)))
    return 0
  },
}
