import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SluiceError } from '../../foundation/errors.ts'
import type { KubeconfigChoice } from '../../platform/commanded-cluster.ts'
import type { ParsedFlags } from '../flags.ts'
import { type ClusterPlace, type DataPlace, findCluster } from './cluster-place.ts'

/** Connects to the cluster that the flags name, and closes the connection when the work is done. */
export async function withConnection<C extends { close(): void }, T>(
  parsed: Pick<ParsedFlags, 'text'>,
  connect: (kubeconfig: KubeconfigChoice) => Promise<C>,
  work: (connection: C) => Promise<T>,
): Promise<T> {
  const connection = await connect(kubeconfigOf(findCluster(parsed)))
  try {
    return await work(connection)
  } finally {
    connection.close()
  }
}

/** The kubeconfig of a cluster, which for a data directory is there once something has run in it. */
export function kubeconfigOf(place: ClusterPlace): KubeconfigChoice {
  if (place.kind === 'kubeconfig') return place
  const path = join(place.data, 'kubeconfig')
  if (!existsSync(path) || !existsSync(join(place.data, 'endpoints.json'))) throw nothingRunsIn(place)
  return { path, context: undefined }
}

export function nothingRunsIn({ data, saidBy }: DataPlace): SluiceError {
  return new SluiceError('nothing_runs', {
    where: `in ${data} (named by ${saidBy})`,
    hint: `Start it with \`sluice up --data ${data}\`, or name another with --data, $SLUICE_DATA or --kubeconfig.`,
  })
}
