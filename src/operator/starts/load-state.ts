import { z } from 'zod'
import type { LoadingPhase } from '../../resources/model.ts'

/** How far a container says that it is. */
export interface LoadState {
  readonly phase: LoadingPhase
  readonly percent?: number | undefined
  readonly bytes?: number | undefined
  readonly totalBytes?: number | undefined
  /** For how long nothing has moved, if it says that itself. */
  readonly stillMs?: number | undefined
}

/** The words of `sluice serve`, and of the program that copies files to the node, for phases. */
const phases: Readonly<Record<string, LoadingPhase>> = {
  starting: 'Starting',
  copying: 'Copying',
  reading: 'Reading',
  weights: 'Loading',
  preparing: 'Preparing',
}

const count = z.number().min(0).max(Number.MAX_SAFE_INTEGER)
const answer = z.object({
  phase: z.string().max(100),
  bytes: count,
  totalBytes: count,
  stillSeconds: count.optional(),
})

/**
 * What a program that is not ready answers to its probe: `{"phase", "bytes", "totalBytes", "stillSeconds"}`. Undefined
 * if it says nothing of that kind.
 */
export function loadStateOf(body: unknown): LoadState | undefined {
  const { data } = answer.safeParse(body)
  if (!data) return undefined
  const [bytes, totalBytes] = [Math.floor(data.bytes), Math.floor(data.totalBytes)]
  return {
    // Other programs may have words of their own.
    phase: (Object.hasOwn(phases, data.phase) ? phases[data.phase] : undefined) ?? 'Loading',
    ...(totalBytes > 0 ? { bytes, totalBytes, percent: percentOf(bytes, totalBytes) } : {}),
    ...(data.stillSeconds === undefined ? {} : { stillMs: data.stillSeconds * 1000 }),
  }
}

function percentOf(bytes: number, totalBytes: number): number {
  return Math.min(100, Math.floor((100 * bytes) / totalBytes))
}
