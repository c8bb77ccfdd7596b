import type { Model } from '../../../resources/model.ts'
import type { ModelView } from '../console-shapes.ts'
import type { Traffic } from '../console-world.ts'

const minuteMs = 60_000

export function modelView({ metadata, spec, status }: Model, traffic: Traffic | undefined): ModelView {
  const { name, creationTimestamp } = metadata
  const sample = traffic?.sample(name)
  const lastActiveAt = traffic?.lastActiveAt(name)
  return {
    name,
    phase: status?.phase ?? 'Asleep',
    message: status?.message,
    wanted: spec.replicas ?? 0,
    ready: status?.readyReplicas ?? 0,
    min: spec.minReplicas,
    max: spec.maxReplicas,
    engine: spec.engine,
    profile: spec.resourceProfile,
    url: spec.url,
    loading: status?.loading,
    lastLoadSeconds: status?.lastLoadSeconds,
    createdAt: creationTimestamp ?? undefined,
    active: sample?.active,
    waiting: sample?.waiting,
    lastActiveAt: lastActiveAt === undefined ? undefined : lastActiveAt - (lastActiveAt % minuteMs),
  }
}
