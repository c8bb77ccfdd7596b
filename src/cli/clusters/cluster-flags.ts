import { SluiceError } from '../../foundation/errors.ts'
import type { ClusterAdmin } from '../../platform/clusters/cluster-admin.ts'
import { withConnection } from '../cluster-connection.ts'
import type { Flag } from '../command.ts'
import type { ParsedFlags } from '../flags.ts'

/** The flags that say where the home cluster is. */
export const homeFlags: readonly Flag[] = [
  { name: 'data', value: 'DIR', fallback: '.sluice', help: 'the data directory of the home cluster' },
  { name: 'kubeconfig', value: 'FILE', help: 'another home cluster (default: the kubeconfig in the data directory)' },
]

export const waitFlag: Flag = {
  name: 'timeout',
  value: 'SECONDS',
  fallback: '60',
  help: 'how long to wait for it',
}

export async function withClusters<T>(parsed: ParsedFlags, work: (clusters: ClusterAdmin) => Promise<T>): Promise<T> {
  const { ClusterAdmin } = await import('../../platform/clusters/cluster-admin.ts')
  return withConnection(parsed, (kubeconfigPath) => ClusterAdmin.connect(kubeconfigPath), work)
}

export function waitMs(parsed: ParsedFlags): number {
  return (parsed.number('timeout', { min: 0, max: 3_600 }) ?? 60) * 1000
}

export function onlyCluster(parsed: ParsedFlags): string {
  const [name, ...extra] = parsed.positionals
  if (name !== undefined && extra.length === 0) return name
  throw new SluiceError('invalid_flag', { flag: 'NAME', reason: 'name exactly one cluster, such as team-a.' })
}
