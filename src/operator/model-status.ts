import { type Condition, withCondition } from '../resources/kubernetes-object.ts'
import { modelLabel } from '../resources/model-labels.ts'
import type { Model, ModelLoading, ModelPhase } from '../resources/model.ts'
import { type Pod, isPodFinished, isPodReady, isPodTerminating } from '../resources/pod.ts'
import { groupRankLabel } from '../resources/serving-group.ts'
import { builtInEngines } from './engines/built-in-engines.ts'
import { type EngineTable, resolveEngine } from './engines/engine.ts'
import type { Obstacle } from './obstacle.ts'
import { isAboutNames, namesCondition } from './names/model-names.ts'
import type { OperatorFacts } from './operator-facts.ts'
import { isDraining } from './plan-replicas.ts'
import { type PodTrouble, podTrouble } from './pod-trouble.ts'

export type ModelStatus = NonNullable<Model['status']>

interface Verdict {
  readonly phase: ModelPhase
  readonly reason: string
  readonly message: string
  readonly loading?: ModelLoading | undefined
}

/** A Model's status: one phase, one sentence, and the conditions behind them. A group counts as one of its `pods`. */
export function modelStatus(
  model: Model,
  pods: readonly Pod[],
  desired: number,
  obstacle: Obstacle | undefined,
  facts: Pick<
    OperatorFacts,
    'now' | 'files' | 'engineUnavailable' | 'startProgress' | 'loadSeconds' | 'engines' | 'takenNames'
  > & {
    readonly isGrouped?: boolean
  },
): ModelStatus {
  const live = pods.filter((pod) => !isPodTerminating(pod) && !isPodFinished(pod))
  const ready = live.filter((pod) => isPodReady(pod) && !isDraining(pod)).length
  const { isGrouped = false } = facts
  const counted = `${ready} of ${desired} ${isGrouped ? 'groups' : 'Pods'} ready.`
  const { phase, reason, message, loading } = verdictOn(pods, { ready, desired, counted }, obstacle, facts)
  const ofModel = `${modelLabel}=${model.metadata.name}`
  const observedGeneration = model.metadata.generation
  const names = namesCondition(model, facts.takenNames)
  const conditions = [
    readyCondition(phase, reason, message),
    filesCondition(facts.files),
    engineCondition(model, obstacle?.reason === 'EngineUnknown' ? obstacle.message : facts.engineUnavailable),
    ...(names ? [names] : []),
  ].reduce<Condition[]>(
    (before, condition) =>
      withCondition(
        before,
        observedGeneration === undefined ? condition : { ...condition, observedGeneration },
        facts.now,
      ),
    (model.status?.conditions ?? []).filter((condition) => names || !isAboutNames(condition)),
  )
  return {
    phase,
    replicas: live.length,
    readyReplicas: ready,
    message,
    ...(loading === undefined ? {} : { loading }),
    ...lastLoad(live, facts, model.status?.lastLoadSeconds),
    ...interfacesOf(model, facts.engines),
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    selector: isGrouped ? `${ofModel},${groupRankLabel}=0` : ofModel,
    conditions,
  }
}

/** How long the newest of the Pods took to load, or the one before them: people who wait for the next want to know. */
function lastLoad(
  pods: readonly Pod[],
  { loadSeconds }: Pick<OperatorFacts, 'loadSeconds'>,
  before: number | undefined,
): Pick<ModelStatus, 'lastLoadSeconds'> {
  const loads = pods.flatMap((pod) => {
    const seconds = loadSeconds?.(pod)
    return seconds === undefined ? [] : [{ seconds, createdAt: pod.metadata.creationTimestamp ?? '' }]
  })
  const newest = loads.toSorted((one, other) => (one.createdAt < other.createdAt ? 1 : -1))[0]
  const lastLoadSeconds = newest?.seconds ?? before
  return lastLoadSeconds === undefined ? {} : { lastLoadSeconds }
}

/** Gateways do not know the table of engines; they read here what need not be translated. */
function interfacesOf({ spec }: Model, engines: EngineTable = builtInEngines): Pick<ModelStatus, 'interfaces'> {
  return resolveEngine(spec.engine, engines)?.responses ? { interfaces: ['responses'] } : {}
}

interface Counts {
  readonly ready: number
  readonly desired: number
  readonly counted: string
}

function verdictOn(
  pods: readonly Pod[],
  { ready, desired, counted }: Counts,
  obstacle: Obstacle | undefined,
  facts: Pick<OperatorFacts, 'startProgress'>,
): Verdict {
  if (desired === 0) return asleepOrDraining(pods, obstacle)
  const troubles = pods
    .filter((pod) => !isPodTerminating(pod) && !isDraining(pod))
    .map((pod) => podTrouble(pod, facts.startProgress?.(pod)))
    .filter((trouble) => trouble !== undefined)
  const worst = mostTelling(troubles)
  const why = obstacle?.message ?? worst?.message
  if (ready > 0) {
    const message = ready >= desired || why === undefined ? counted : `${counted} ${why}`
    return { phase: 'Ready', reason: 'PodsReady', message, loading: ready >= desired ? undefined : worst?.loading }
  }
  if (worst !== undefined) {
    // One Pod that may still succeed is enough to keep waiting.
    const hopeless = troubles.every(({ outlook }) => outlook === 'failing')
    const { reason, message, loading } = worst
    return { phase: hopeless ? 'Failed' : 'Waking', reason, message, loading }
  }
  if (obstacle) {
    return { phase: obstacle.passing ? 'Waking' : 'Failed', reason: obstacle.reason, message: obstacle.message }
  }
  return { phase: 'Waking', reason: 'Starting', message: 'A Pod is being created.' }
}

function asleepOrDraining(pods: readonly Pod[], obstacle: Obstacle | undefined): Verdict {
  const left = pods.filter((pod) => !isPodFinished(pod)).length
  if (left > 0) {
    const message = `${left === 1 ? 'The last Pod finishes' : `The last ${left} Pods finish`} what is running.`
    return { phase: 'Draining', reason: 'Draining', message }
  }
  // It would be pointless even to try: requests are refused at once, instead of waiting for a card.
  if (obstacle && !obstacle.passing) return { phase: 'Failed', reason: obstacle.reason, message: obstacle.message }
  if (obstacle) return { phase: 'Asleep', reason: obstacle.reason, message: `Asleep. ${obstacle.message}` }
  return { phase: 'Asleep', reason: 'Asleep', message: 'Asleep; a request wakes it.' }
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

/** One word for what the Model is, or why it is not ready. */
export function readyReason(status: Model['status']): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.reason
}

function readyCondition(phase: ModelPhase, reason: string, message: string): Condition {
  return { type: 'Ready', status: phase === 'Ready' ? 'True' : 'False', reason, message }
}

function filesCondition({ state, pending, message }: OperatorFacts['files']): Condition {
  const told = message === undefined ? {} : { message }
  if (state === 'present') return { type: 'FilesPresent', status: 'True', reason: 'Found', ...told }
  if (state === 'unknown') return { type: 'FilesPresent', status: 'Unknown', reason: 'NotChecked', ...told }
  if (state === 'unusable') return { type: 'FilesPresent', status: 'False', reason: 'Unusable', ...told }
  return { type: 'FilesPresent', status: 'False', reason: pending ? 'OnTheirWay' : 'Missing', ...told }
}

function engineCondition({ spec }: Model, unavailable: string | undefined): Condition {
  return unavailable === undefined
    ? { type: 'EngineAvailable', status: 'True', reason: 'Available', message: `${spec.engine} can run here.` }
    : { type: 'EngineAvailable', status: 'False', reason: 'Unavailable', message: unavailable }
}
