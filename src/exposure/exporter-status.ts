import { type Condition, withCondition } from '../resources/kubernetes-object.ts'
import type { ServiceExporter } from '../resources/service-exporter.ts'
import type { ExporterVerdict } from './plan-host.ts'

type Status = NonNullable<ServiceExporter['status']>

/** The status a ServiceExporter should have; `undefined` when it already says so. */
export function statusFor(exporter: ServiceExporter, verdict: ExporterVerdict, now: number): Status | undefined {
  const wanted = readyCondition(exporter, verdict)
  const url = verdict.exposed ? verdict.url : undefined
  const certificate = certificateCondition(exporter, verdict)
  const before = exporter.status?.conditions
  const [ready, shown] = [conditionOf(exporter.status, 'Ready'), conditionOf(exporter.status, 'Certificate')]
  const isSaid = ready && says(ready, wanted) && (certificate ? shown && says(shown, certificate) : !shown)
  if (exporter.status?.url === url && isSaid) return undefined
  const kept = certificate ? before : before?.filter(({ type }) => type !== 'Certificate')
  const withReady = withCondition(kept, wanted, now)
  const conditions = certificate ? withCondition(withReady, certificate, now) : withReady
  return url === undefined ? { conditions } : { url, conditions }
}

function readyCondition({ metadata }: ServiceExporter, verdict: ExporterVerdict): Condition {
  const generation = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }
  const problem = verdict.exposed ? verdict.unready : verdict
  return verdict.exposed && !problem
    ? { type: 'Ready', status: 'True', reason: 'Exposed', message: `Reachable at ${verdict.url}`, ...generation }
    : { type: 'Ready', status: 'False', reason: problem?.reason, message: problem?.message, ...generation }
}

/** Where the exporter names a certificate of its own and has a host to show it at. */
function certificateCondition({ metadata, spec }: ServiceExporter, verdict: ExporterVerdict): Condition | undefined {
  if (!verdict.exposed || !verdict.certificate) return undefined
  const generation = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }
  const { problem } = verdict.certificate
  const message = `The certificate in the Secret ${spec.tlsSecretName} is shown.`
  return problem
    ? { type: 'Certificate', status: 'False', reason: problem.reason, message: problem.message, ...generation }
    : { type: 'Certificate', status: 'True', reason: 'OwnCertificate', message, ...generation }
}

/** What happened, where a status says something else than the one before it: to be told as an Event. */
export function changesOf(before: ServiceExporter['status'], now: Status): readonly StatusChange[] {
  return ['Ready', 'Certificate'].flatMap((type) => {
    const [was, is] = [conditionOf(before, type), conditionOf(now, type)]
    const hasMoved = type === 'Ready' && before?.url !== now.url
    if (!is || (was?.status === is.status && was.reason === is.reason && !hasMoved)) return []
    const kind = is.status === 'True' ? ('Normal' as const) : ('Warning' as const)
    return [{ type: kind, reason: is.reason ?? '', message: is.message ?? '' }]
  })
}

export interface StatusChange {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
}

function conditionOf(status: ServiceExporter['status'], asked: string): Condition | undefined {
  return status?.conditions?.find(({ type }) => type === asked)
}

function says(current: Condition, wanted: Condition): boolean {
  const fields = ['status', 'reason', 'message', 'observedGeneration'] as const
  return fields.every((field) => current[field] === wanted[field])
}
