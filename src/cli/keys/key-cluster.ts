import { SluiceError } from '../../foundation/errors.ts'
import type { InferenceKeys } from '../../platform/inference-keys.ts'
import { withConnection } from '../cluster-connection.ts'
import type { ParsedFlags } from '../flags.ts'

export async function withKeys<T>(parsed: ParsedFlags, work: (keys: InferenceKeys) => Promise<T>): Promise<T> {
  const { InferenceKeys } = await import('../../platform/inference-keys.ts')
  return withConnection(parsed, (kubeconfigPath) => InferenceKeys.connect(kubeconfigPath), work)
}

export function onlyName(parsed: ParsedFlags): string {
  const [name, ...extra] = parsed.positionals
  if (name !== undefined && extra.length === 0) return name
  throw new SluiceError('invalid_flag', { flag: 'NAME', reason: 'name exactly one key, such as web-shop.' })
}
