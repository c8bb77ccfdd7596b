import { type Condition, withCondition } from '../resources/kubernetes-object.ts'
import type { ServiceExporter } from '../resources/service-exporter.ts'
import type { ExporterVerdict } from './plan-routes.ts'

type Status = NonNullable<ServiceExporter['status']>

/** The status a ServiceExporter should have; `undefined` when it already says so. */
export function statusFor(exporter: ServiceExporter, verdict: ExporterVerdict, now: number): Status | undefined {
  const wanted = readyCondition(exporter, verdict)
  const url = verdict.exposed ? verdict.url : undefined
  const current = readyOf(exporter.status)
  if (exporter.status?.url === url && current && says(current, wanted)) return undefined
  const conditions = withCondition(exporter.status?.conditions, wanted, now)
  return url === undefined ? { conditions } : { url, conditions }
}

function readyCondition({ metadata }: ServiceExporter, verdict: ExporterVerdict): Condition {
  const generation = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }
  const problem = verdict.exposed ? verdict.unready : verdict
  return verdict.exposed && !problem
    ? { type: 'Ready', status: 'True', reason: 'Exposed', message: `Reachable at ${verdict.url}`, ...generation }
    : { type: 'Ready', status: 'False', reason: problem?.reason, message: problem?.message, ...generation }
}

/** What happened, where a status says something else than the one before it: to be told as an Event. */
export function changeOf(before: ServiceExporter['status'], now: Status): StatusChange | undefined {
  const [was, is] = [readyOf(before), readyOf(now)]
  if (!is || (was?.status === is.status && was.reason === is.reason && before?.url === now.url)) return undefined
  return { type: is.status === 'True' ? 'Normal' : 'Warning', reason: is.reason ?? '', message: is.message ?? '' }
}

export interface StatusChange {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
}

function readyOf(status: ServiceExporter['status']): Condition | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready')
}

function says(current: Condition, wanted: Condition): boolean {
  const fields = ['status', 'reason', 'message', 'observedGeneration'] as const
  return fields.every((field) => current[field] === wanted[field])
}
