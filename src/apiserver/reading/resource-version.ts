import { StatusError } from '../../resources/status-error.ts'

/**
 * Reads a resourceVersion that a client sent. A version that this store has not reached yet belongs to another store
 * and is refused.
 */
export function readResourceVersion(version: string, current: number): number {
  const revision = /^\d{1,15}$/.test(version) ? Number(version) : Number.NaN
  if (Number.isNaN(revision)) throw new StatusError('BadRequest', `invalid resource version: ${version.slice(0, 64)}`)
  if (revision <= current) return revision
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version', field: '' }]
  const message = `Too large resource version: ${revision}, current: ${current}`
  throw new StatusError('Timeout', message, { causes, retryAfterSeconds: 1 })
}
