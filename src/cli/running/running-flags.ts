import type { ClusterModels } from '../../platform/models/cluster-models.ts'
import type { ModelFigures } from '../../platform/models/running/model-figures.ts'
import type { Flag } from '../command.ts'
import { withConnection } from '../connection/cluster-connection.ts'
import { apiKeyOf, findGateway } from '../connection/gateway-address.ts'
import { type ParsedFlags, onlyPositional } from '../flags.ts'

export const deadlineFlag: Flag = {
  name: 'timeout',
  value: 'SECONDS',
  fallback: '600',
  help: 'how long to wait for it',
}

export function deadlineMs(parsed: ParsedFlags): number {
  return (parsed.number('timeout', { min: 1, max: 24 * 3600 }) ?? 600) * 1000
}

export function onlyModel(parsed: ParsedFlags): string {
  return onlyPositional(parsed, 'MODEL', 'name exactly one model; `sluice model list` shows them.')
}

export async function withModels<T>(
  parsed: Pick<ParsedFlags, 'text'>,
  work: (models: ClusterModels) => Promise<T>,
): Promise<T> {
  const { ClusterModels } = await import('../../platform/models/cluster-models.ts')
  return withConnection(parsed, ClusterModels.connect, work)
}

/** What the gateway counts. Where it cannot be asked, what is known without it is still worth showing. */
export async function figuresOrNone(parsed: Pick<ParsedFlags, 'text'>): Promise<ReadonlyMap<string, ModelFigures>> {
  const gateway = findGateway(parsed)
  if (gateway === undefined) return new Map()
  const { fetchFigures } = await import('../../platform/models/running/model-figures.ts')
  return fetchFigures(gateway, apiKeyOf(parsed)).catch(() => new Map<string, ModelFigures>())
}

/** Ends with Ctrl-C. */
export function untilInterrupted(): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  // The reader, for example `head`, has seen enough.
  process.stdout.once('error', () => stop.abort())
  return stop.signal
}
