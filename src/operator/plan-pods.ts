import { isPodOf } from '../resources/model-ownership.ts'
import { parseResourceProfile } from '../resources/model-references.ts'
import type { Model } from '../resources/model.ts'
import type { Pod } from '../resources/pod.ts'
import { type NewPod, modelPodSpec, newModelPod, specHash } from './model-pod.ts'
import { type ModelStatus, modelStatus } from './model-status.ts'
import { findObstacle } from './obstacle.ts'
import type { OperatorFacts } from './operator-facts.ts'
import { planReplicas } from './plan-replicas.ts'
import { resolveProfile } from './resource-profile.ts'

export interface PodPlan {
  readonly create: readonly NewPod[]
  /** Draining Pods that are wanted again. */
  readonly recall: readonly Pod[]
  /** Pods to be taken out of routing. */
  readonly drain: readonly Pod[]
  readonly delete: readonly Pod[]
  readonly status: ModelStatus
  /** When time alone would change the plan; undefined when only an event can. */
  readonly checkAgainMs: number | undefined
}

const filesCheckMs = 2_000

/** What to do so that a Model has the Pods it asks for, and the status to report. */
export function planPods(model: Model, pods: readonly Pod[], facts: OperatorFacts): PodPlan {
  const own = pods.filter((pod) => isPodOf(model, pod))
  const obstacle = findObstacle(model, facts)
  // Nobody can reach it, whatever it asks for, so it holds no card.
  const desired = obstacle?.reason === 'WrongNamespace' ? 0 : desiredReplicas(model)
  const profile = resolveProfile(parseResourceProfile(model.spec.resourceProfile).profile, facts.profiles)
  const spec = profile && modelPodSpec(model, profile, facts)
  const template = spec && { spec, hash: specHash(spec) }
  const blocked = obstacle !== undefined || template === undefined

  const { create, checkAgainMs, ...existing } = planReplicas({
    desired,
    pods: own,
    hash: template?.hash,
    blocked,
    facts,
  })
  const awaitsFiles = facts.files.state === 'missing'
  return {
    ...existing,
    create: template
      ? create.map((failures, index) =>
          newModelPod(model, template, { suffix: facts.suffix(index), failures, engineKey: facts.engineKey }),
        )
      : [],
    status: modelStatus(model, own, desired, obstacle, facts),
    checkAgainMs: awaitsFiles ? Math.min(filesCheckMs, checkAgainMs ?? filesCheckMs) : checkAgainMs,
  }
}

export function desiredReplicas({ spec }: Model): number {
  return Math.min(spec.maxReplicas, Math.max(spec.minReplicas, spec.replicas ?? spec.minReplicas))
}
