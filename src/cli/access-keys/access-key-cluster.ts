import type { AccessKeys } from '../../platform/access-keys.ts'
import { withConnection } from '../connection/cluster-connection.ts'
import type { ParsedFlags } from '../flags.ts'

export async function withAccessKeys<T>(parsed: ParsedFlags, work: (keys: AccessKeys) => Promise<T>): Promise<T> {
  const { AccessKeys } = await import('../../platform/access-keys.ts')
  return withConnection(parsed, (kubeconfig) => AccessKeys.connect(kubeconfig), work)
}

/** Prints the pair like the content of `credentials.json`, so that other programs can read it from standard output. */
export function renderPair(pair: { readonly accessKey: string; readonly secretKey: string }): string {
  const { accessKey, secretKey } = pair
  return JSON.stringify({ accessKey, secretKey }, null, 2)
}
