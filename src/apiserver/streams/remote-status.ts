import { errorMessage } from '../../foundation/errors.ts'
import type { ExitResult } from '../pods/pod-access.ts'

/** How a command ended, as the status channel reports it. */
export function exitStatus({ exitCode }: ExitResult): unknown {
  if (exitCode === 0) return { metadata: {}, status: 'Success' }
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: command terminated with exit code ${exitCode}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  }
}

/** That a command could not be started, or not be finished. */
export function failureStatus(error: unknown, prefix = ''): unknown {
  const message = prefix + errorMessage(error)
  return {
    metadata: {},
    status: 'Failure',
    message: `Internal error occurred: ${message}`,
    reason: 'InternalError',
    details: { causes: [{ message }] },
    code: 500,
  }
}
