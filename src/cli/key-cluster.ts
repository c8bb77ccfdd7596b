import { join } from 'node:path'
import { SluiceError } from '../foundation/errors.ts'
import type { InferenceKeys } from '../platform/inference-keys.ts'
import type { Flag } from './command.ts'
import type { ParsedFlags } from './flags.ts'

/** The flags that say which cluster the keys are in. */
export const clusterFlags: readonly Flag[] = [
  { name: 'data', value: 'DIR', fallback: '.sluice', help: 'the data directory of the cluster' },
  { name: 'kubeconfig', value: 'FILE', help: 'another cluster (default: the kubeconfig in the data directory)' },
]

export async function withKeys<T>(parsed: ParsedFlags, work: (keys: InferenceKeys) => Promise<T>): Promise<T> {
  const kubeconfig = parsed.text('kubeconfig') ?? join(parsed.text('data') ?? '.sluice', 'kubeconfig')
  const { InferenceKeys } = await import('../platform/inference-keys.ts')
  const keys = await InferenceKeys.connect(kubeconfig)
  try {
    return await work(keys)
  } finally {
    keys.close()
  }
}

export function onlyName(parsed: ParsedFlags): string {
  const [name, ...extra] = parsed.positionals
  if (name !== undefined && extra.length === 0) return name
  throw new SluiceError('invalid_flag', { flag: 'NAME', reason: 'name exactly one key, such as web-shop.' })
}
