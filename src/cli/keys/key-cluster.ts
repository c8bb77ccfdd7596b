import type { InferenceKeys } from '../../platform/inference-keys.ts'
import { withConnection } from '../connection/cluster-connection.ts'
import { type ParsedFlags, onlyPositional } from '../flags.ts'

export async function withKeys<T>(parsed: ParsedFlags, work: (keys: InferenceKeys) => Promise<T>): Promise<T> {
  const { InferenceKeys } = await import('../../platform/inference-keys.ts')
  return withConnection(parsed, (kubeconfig) => InferenceKeys.connect(kubeconfig), work)
}

export function onlyName(parsed: ParsedFlags): string {
  return onlyPositional(parsed, 'NAME', 'name exactly one key, such as web-shop.')
}
