import { SluiceError } from '../../foundation/errors.ts'
import type { Exchange } from '../../relay/exchange.ts'

/** Whether the client left. A stopping gateway aborts requests, too, but their clients are still there. */
export function isClientGone({ signal }: Exchange): boolean {
  if (!signal.aborted) return false
  const reason: unknown = signal.reason
  return !(reason instanceof SluiceError && reason.code === 'stopping')
}
