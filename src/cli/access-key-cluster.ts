import { join } from 'node:path'
import type { AccessKeys } from '../platform/access-keys.ts'
import type { ParsedFlags } from './flags.ts'

export async function withAccessKeys<T>(parsed: ParsedFlags, work: (keys: AccessKeys) => Promise<T>): Promise<T> {
  const kubeconfig = parsed.text('kubeconfig') ?? join(parsed.text('data') ?? '.sluice', 'kubeconfig')
  const { AccessKeys } = await import('../platform/access-keys.ts')
  const keys = await AccessKeys.connect(kubeconfig)
  try {
    return await work(keys)
  } finally {
    keys.close()
  }
}

/** Prints the pair like the content of `credentials.json`, so that other programs can read it from standard output. */
export function renderPair(pair: { readonly accessKey: string; readonly secretKey: string }): string {
  const { accessKey, secretKey } = pair
  return JSON.stringify({ accessKey, secretKey }, null, 2)
}
