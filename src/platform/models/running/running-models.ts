import { timestamp } from '../../../resources/kubernetes-object.ts'
import { isPodOf } from '../../../resources/model-ownership.ts'
import type { Model, ModelPhase } from '../../../resources/model.ts'
import type { Pod } from '../../../resources/pod.ts'
import type { ModelFigures } from './model-figures.ts'

/** A model that takes something of the machine now, or is about to. */
export interface RunningModel {
  readonly name: string
  readonly phase: ModelPhase
  readonly readyReplicas: number
  readonly replicas: number
  /** Which cards its Pods hold, by kind. */
  readonly cards: Readonly<Record<string, number>>
  readonly pods: readonly string[]
  /** When its oldest Pod started. */
  readonly since?: string | undefined
  /** When it goes to sleep if nobody asks until then. */
  readonly idleUntil?: string | undefined
  readonly activeRequests?: number | undefined
  readonly waitingRequests?: number | undefined
  readonly loading?: string | undefined
  readonly message?: string | undefined
}

/** The models that run, or fail to; those that are asleep have nothing to show. */
export function runningModels(
  models: readonly Model[],
  pods: readonly Pod[],
  figures: ReadonlyMap<string, ModelFigures>,
): RunningModel[] {
  return models.flatMap((model) => {
    const own = pods.filter((pod) => isPodOf(model, pod) && !isOver(pod))
    const phase = model.status?.phase ?? 'Asleep'
    return phase === 'Asleep' && own.length === 0 ? [] : [runningModel(model, own, figures.get(model.metadata.name))]
  })
}

function runningModel({ metadata, status }: Model, pods: readonly Pod[], figures?: ModelFigures): RunningModel {
  const { sleepsAtMs } = figures ?? {}
  return {
    name: metadata.name,
    phase: status?.phase ?? 'Asleep',
    readyReplicas: status?.readyReplicas ?? 0,
    replicas: status?.replicas ?? pods.length,
    cards: cardsOf(pods),
    pods: pods.map((pod) => pod.metadata.name),
    since: pods.flatMap(({ status: { startTime } = {} }) => (startTime === undefined ? [] : [startTime])).toSorted()[0],
    // What cannot start does not go to sleep either.
    idleUntil: sleepsAtMs === undefined || status?.phase === 'Failed' ? undefined : timestamp(sleepsAtMs),
    activeRequests: figures?.active,
    waitingRequests: figures?.waiting,
    loading: status?.loading?.progress,
    message: status?.message,
  }
}

function isOver({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}

/** Cards are extended resources, whose names have a domain. */
export function cardsOf(pods: readonly Pod[]): Record<string, number> {
  const cards: Record<string, number> = {}
  for (const { spec } of pods) {
    for (const { resources } of spec.containers) {
      for (const [name, amount] of Object.entries(resources?.limits ?? {})) {
        const count = Number(amount)
        if (name.includes('/') && count > 0) cards[name] = (cards[name] ?? 0) + count
      }
    }
  }
  return cards
}
