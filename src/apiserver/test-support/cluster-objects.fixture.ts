import { StatusError } from '../../resources/status-error.ts'
import { mergePatch } from '../patches/merge-patch.ts'

export const model = (name = 'm', spec: Record<string, unknown> = {}) => ({
  metadata: { name },
  spec: { url: 'pvc://userdata/models/m', engine: 'LlamaCpp', ...spec },
})

export const pod = (name: string, spec: Record<string, unknown> = {}) => ({
  metadata: { name },
  spec: { containers: [{ name: 'main', image: 'registry.example/app:1' }], ...spec },
})

export const merge = (patch: unknown) => (current: unknown) => mergePatch(current, patch)

/** The error with which it was refused; throws when it was not. */
export async function refusal(promise: Promise<unknown>): Promise<StatusError> {
  const error: unknown = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  )
  if (error instanceof StatusError) return error
  throw new Error(`expected a StatusError, got ${String(error)}`)
}
