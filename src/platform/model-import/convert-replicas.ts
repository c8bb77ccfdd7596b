import type { KubeAiSpec } from './kubeai-model.ts'
import type { NoteTaker } from './import-note.ts'

/** How many replicas our Model has at least and at most. `most` is for one that says no limit. */
export function convertReplicas(
  spec: KubeAiSpec,
  most: number,
  notes: NoteTaker,
): { readonly minReplicas: number; readonly maxReplicas: number } {
  if (spec.autoscalingDisabled) return fixedReplicas(spec.replicas ?? 0, notes)
  const minReplicas = spec.minReplicas ?? 0
  if (spec.maxReplicas != null) return { minReplicas, maxReplicas: spec.maxReplicas }
  const maxReplicas = Math.max(most, minReplicas)
  notes.changed('spec.maxReplicas', `there is always a limit here; it is ${maxReplicas}.`)
  return { minReplicas, maxReplicas }
}

function fixedReplicas(replicas: number, notes: NoteTaker) {
  const range = { minReplicas: replicas, maxReplicas: Math.max(replicas, 1) }
  notes.changed(
    'spec.autoscalingDisabled',
    replicas === 0
      ? 'a Model is always scaled here: with no replicas now, it will wake when somebody asks.'
      : `a Model is always scaled here; as many as least and as most keep it at ${replicas}.`,
  )
  return range
}
