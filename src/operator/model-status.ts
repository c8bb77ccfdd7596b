import { type Condition, withCondition } from '../resources/kubernetes-object.ts'
import { modelLabel } from '../resources/model-labels.ts'
import type { Model, ModelPhase } from '../resources/model.ts'
import { type Pod, isPodFinished, isPodReady, isPodTerminating } from '../resources/pod.ts'
import type { Obstacle } from './obstacle.ts'
import type { OperatorFacts } from './operator-facts.ts'
import { isDraining } from './plan-replicas.ts'
import { type PodTrouble, podTrouble } from './pod-trouble.ts'

export type ModelStatus = NonNullable<Model['status']>

interface Verdict {
  readonly phase: ModelPhase
  readonly reason: string
  readonly message: string
}

/** A Model's status: one phase, one sentence, and the conditions behind them. */
export function modelStatus(
  model: Model,
  pods: readonly Pod[],
  desired: number,
  obstacle: Obstacle | undefined,
  facts: Pick<OperatorFacts, 'now' | 'files' | 'engineUnavailable'>,
): ModelStatus {
  const live = pods.filter((pod) => !isPodTerminating(pod) && !isPodFinished(pod))
  const ready = live.filter((pod) => isPodReady(pod) && !isDraining(pod)).length
  const { phase, reason, message } = verdictOn(pods, ready, desired, obstacle)
  const observedGeneration = model.metadata.generation
  const conditions = [
    readyCondition(phase, reason, message),
    filesCondition(facts.files),
    engineCondition(model, facts.engineUnavailable),
  ].reduce<Condition[]>(
    (before, condition) =>
      withCondition(
        before,
        observedGeneration === undefined ? condition : { ...condition, observedGeneration },
        facts.now,
      ),
    model.status?.conditions ?? [],
  )
  return {
    phase,
    replicas: live.length,
    readyReplicas: ready,
    message,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    selector: `${modelLabel}=${model.metadata.name}`,
    conditions,
  }
}

function verdictOn(pods: readonly Pod[], ready: number, desired: number, obstacle: Obstacle | undefined): Verdict {
  if (desired === 0) return asleepOrDraining(pods, obstacle)
  const troubles = pods
    .filter((pod) => !isPodTerminating(pod) && !isDraining(pod))
    .map(podTrouble)
    .filter((trouble) => trouble !== undefined)
  const worst = mostTelling(troubles)
  const why = obstacle?.message ?? worst?.message
  if (ready > 0) {
    const message =
      ready >= desired || why === undefined ? `${ready} of ${desired} Pods ready.` : notAll(ready, desired, why)
    return { phase: 'Ready', reason: 'PodsReady', message }
  }
  if (worst !== undefined) {
    // One Pod that may still succeed is enough to keep waiting.
    const hopeless = troubles.every(({ outlook }) => outlook === 'failing')
    return { phase: hopeless ? 'Failed' : 'Waking', reason: worst.reason, message: worst.message }
  }
  if (obstacle) {
    return { phase: obstacle.passing ? 'Waking' : 'Failed', reason: obstacle.reason, message: obstacle.message }
  }
  return { phase: 'Waking', reason: 'Starting', message: 'A Pod is being created.' }
}

/** With these it would be pointless even to try: requests are refused at once, instead of waiting for a card. */
const neverStarts: ReadonlySet<Obstacle['reason']> = new Set(['WrongNamespace', 'ProfileUnknown', 'NoSuchCard'])

function asleepOrDraining(pods: readonly Pod[], obstacle: Obstacle | undefined): Verdict {
  const left = pods.filter((pod) => !isPodFinished(pod)).length
  if (left > 0) {
    const message = `${left === 1 ? 'The last Pod finishes' : `The last ${left} Pods finish`} what is running.`
    return { phase: 'Draining', reason: 'Draining', message }
  }
  if (obstacle && neverStarts.has(obstacle.reason)) {
    return { phase: 'Failed', reason: obstacle.reason, message: obstacle.message }
  }
  if (obstacle) {
    const message = obstacle.passing ? `Asleep. ${obstacle.message}` : `Asleep, and cannot wake: ${obstacle.message}`
    return { phase: 'Asleep', reason: obstacle.reason, message }
  }
  return { phase: 'Asleep', reason: 'Asleep', message: 'Asleep; a request wakes it.' }
}

function notAll(ready: number, desired: number, why: string): string {
  return `${ready} of ${desired} Pods ready. ${why}`
}

/** The Pod that is closest to working says most about what the model waits for; among failures, the first. */
function mostTelling(troubles: readonly PodTrouble[]): PodTrouble | undefined {
  const order: ReadonlyArray<PodTrouble['outlook']> = ['starting', 'waiting', 'failing']
  for (const outlook of order) {
    const found = troubles.find((trouble) => trouble.outlook === outlook)
    if (found) return found
  }
  return undefined
}

function readyCondition(phase: ModelPhase, reason: string, message: string): Condition {
  return { type: 'Ready', status: phase === 'Ready' ? 'True' : 'False', reason, message }
}

function filesCondition({ state, pending, message }: OperatorFacts['files']): Condition {
  const told = message === undefined ? {} : { message }
  if (state === 'present') return { type: 'FilesPresent', status: 'True', reason: 'Found', ...told }
  if (state === 'unknown') return { type: 'FilesPresent', status: 'Unknown', reason: 'NotChecked', ...told }
  return { type: 'FilesPresent', status: 'False', reason: pending ? 'OnTheirWay' : 'Missing', ...told }
}

function engineCondition({ spec }: Model, unavailable: string | undefined): Condition {
  return unavailable === undefined
    ? { type: 'EngineAvailable', status: 'True', reason: 'Available', message: `${spec.engine} can run here.` }
    : { type: 'EngineAvailable', status: 'False', reason: 'Unavailable', message: unavailable }
}
