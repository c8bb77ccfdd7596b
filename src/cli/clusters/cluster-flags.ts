import type { ClusterAdmin } from '../../platform/clusters/cluster-admin.ts'
import { withConnection } from '../connection/cluster-connection.ts'
import type { Flag } from '../command.ts'
import { type ParsedFlags, onlyPositional } from '../flags.ts'

export const waitFlag: Flag = {
  name: 'timeout',
  value: 'SECONDS',
  fallback: '60',
  help: 'how long to wait for it',
}

export async function withClusters<T>(parsed: ParsedFlags, work: (clusters: ClusterAdmin) => Promise<T>): Promise<T> {
  const { ClusterAdmin } = await import('../../platform/clusters/cluster-admin.ts')
  return withConnection(parsed, (kubeconfig) => ClusterAdmin.connect(kubeconfig), work)
}

export function waitMs(parsed: ParsedFlags): number {
  return (parsed.number('timeout', { min: 0, max: 3_600 }) ?? 60) * 1000
}

export function onlyCluster(parsed: ParsedFlags): string {
  return onlyPositional(parsed, 'NAME', 'name exactly one cluster, such as team-a.')
}
