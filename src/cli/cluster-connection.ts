import { join } from 'node:path'
import type { Flag } from './command.ts'
import type { ParsedFlags } from './flags.ts'

/** The flags of commands that ask a running cluster: where it is. */
export const clusterFlags: readonly Flag[] = [
  { name: 'data', value: 'DIR', fallback: '.sluice', help: 'the data directory of the cluster' },
  { name: 'kubeconfig', value: 'FILE', help: 'another cluster (default: the kubeconfig in the data directory)' },
]

/** Connects to the cluster that the flags name, and closes the connection when the work is done. */
export async function withConnection<C extends { close(): void }, T>(
  parsed: ParsedFlags,
  connect: (kubeconfigPath: string) => Promise<C>,
  work: (connection: C) => Promise<T>,
): Promise<T> {
  const kubeconfigPath = parsed.text('kubeconfig') ?? join(parsed.text('data') ?? '.sluice', 'kubeconfig')
  const connection = await connect(kubeconfigPath)
  try {
    return await work(connection)
  } finally {
    connection.close()
  }
}
