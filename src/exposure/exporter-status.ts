import { type Condition, withCondition } from '../resources/kubernetes-object.ts'
import type { ServiceExporter } from '../resources/service-exporter.ts'
import type { ExporterVerdict } from './plan-routes.ts'

type Status = NonNullable<ServiceExporter['status']>

/** The status a ServiceExporter should have; `undefined` when it already says so. */
export function statusFor(exporter: ServiceExporter, verdict: ExporterVerdict, now: number): Status | undefined {
  const wanted = readyCondition(exporter, verdict)
  const url = verdict.exposed ? verdict.url : undefined
  const current = exporter.status?.conditions?.find(({ type }) => type === 'Ready')
  if (exporter.status?.url === url && current && says(current, wanted)) return undefined
  const conditions = withCondition(exporter.status?.conditions, wanted, now)
  return url === undefined ? { conditions } : { url, conditions }
}

function readyCondition({ metadata }: ServiceExporter, verdict: ExporterVerdict): Condition {
  const generation = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }
  return verdict.exposed
    ? { type: 'Ready', status: 'True', reason: 'Exposed', message: `Reachable at ${verdict.url}`, ...generation }
    : { type: 'Ready', status: 'False', reason: verdict.reason, message: verdict.message, ...generation }
}

function says(current: Condition, wanted: Condition): boolean {
  const fields = ['status', 'reason', 'message', 'observedGeneration'] as const
  return fields.every((field) => current[field] === wanted[field])
}
