import type { ObjectCache } from '../../../cluster/informer.ts'
import { modelOfPod } from '../../../resources/model-ownership.ts'
import type { Model } from '../../../resources/model.ts'
import { type Pod, isPodFinished, isPodReady, isPodTerminating } from '../../../resources/pod.ts'
import type { WakeStep, WakeView } from '../console-shapes.ts'

interface Wake {
  readonly id: string
  readonly model: string
  readonly pod: string
  readonly steps: WakeStep[]
  endedAt: number | undefined
  outcome: WakeView['outcome']
}

export interface WakeRecorderOptions {
  readonly models: ObjectCache<Model>
  readonly pods: ObjectCache<Pod>
  readonly now: () => number
  readonly onChange: () => void
}

const mostWakes = 100
const mostSteps = 20

/** The last starts of Models' Pods, step by step, as the resources show them. */
export class WakeRecorder {
  readonly #options: WakeRecorderOptions
  /** By the uid of the Pod, oldest first. */
  readonly #wakes = new Map<string, Wake>()
  readonly #unsubscribe: Array<() => void> = []

  constructor(options: WakeRecorderOptions) {
    this.#options = options
  }

  start(): void {
    const { models, pods } = this.#options
    this.#unsubscribe.push(
      pods.onChange(({ type, object }) => {
        if (type === 'added') this.#begin(object)
        if (type === 'deleted') this.#gone(object)
        else this.#observe(object)
      }),
      models.onChange(({ type, object }) => (type === 'deleted' ? undefined : this.#observeLoading(object))),
    )
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe()
  }

  /** Newest first. */
  list(): WakeView[] {
    return [...this.#wakes.values()].toReversed().map((wake) => ({ ...wake, steps: [...wake.steps] }))
  }

  #observe(pod: Pod): void {
    const wake = this.#wakes.get(pod.metadata.uid ?? '')
    if (!wake || wake.endedAt !== undefined) return
    if (pod.spec.nodeName !== undefined) this.#step(wake, 'Starting', conditionTime(pod, 'PodScheduled'))
    if (isPodReady(pod)) this.#end(wake, 'ready', conditionTime(pod, 'Ready'))
    else if (isPodFinished(pod)) this.#end(wake, 'failed', undefined)
    else if (isPodTerminating(pod)) this.#end(wake, 'stopped', undefined)
  }

  /** Only Pods that are made while we watch: how those before got ready, and when, cannot be told any more. */
  #begin(pod: Pod): void {
    const model = modelOfPod(pod, this.#options.models)?.metadata.name
    const { uid } = pod.metadata
    if (model === undefined || uid === undefined) return
    const now = this.#options.now()
    const seenAt = createdAt(pod)
    // The server's times are whole seconds: of a Pod that was made just now, our own is more exact.
    const at = now - seenAt < 1_500 ? now : seenAt
    const wake: Wake = {
      id: uid,
      model,
      pod: pod.metadata.name,
      steps: [{ name: 'Placing', at }],
      endedAt: undefined,
      outcome: undefined,
    }
    this.#wakes.set(uid, wake)
    const [oldest] = this.#wakes.keys()
    if (this.#wakes.size > mostWakes && oldest !== undefined) this.#wakes.delete(oldest)
    this.#options.onChange()
  }

  /** A Model tells of one load; it is that of its newest Pod that is not ready. */
  #observeLoading({ metadata, status }: Model): void {
    if (!status?.loading) return
    const wake = [...this.#wakes.values()].findLast(
      ({ model, endedAt }) => model === metadata.name && endedAt === undefined,
    )
    if (wake) this.#step(wake, status.loading.phase, undefined)
  }

  #gone(pod: Pod): void {
    const wake = this.#wakes.get(pod.metadata.uid ?? '')
    if (wake && wake.endedAt === undefined) this.#end(wake, 'stopped', undefined)
  }

  #step(wake: Wake, name: string, toldAt: number | undefined): void {
    if (wake.steps.some((step) => step.name === name) || wake.steps.length >= mostSteps) return
    wake.steps.push({ name, at: this.#timeOf(wake, toldAt) })
    this.#options.onChange()
  }

  #end(wake: Wake, outcome: NonNullable<WakeView['outcome']>, toldAt: number | undefined): void {
    wake.endedAt = this.#timeOf(wake, toldAt)
    wake.outcome = outcome
    this.#options.onChange()
  }

  /** Never before the step before: the server's seconds are cut off. */
  #timeOf(wake: Wake, toldAt: number | undefined): number {
    const now = this.#options.now()
    const at = toldAt === undefined || now - toldAt < 1_500 ? now : toldAt
    return Math.max(at, wake.steps.at(-1)?.at ?? 0)
  }
}

function createdAt({ metadata }: Pod): number {
  return Date.parse(metadata.creationTimestamp ?? '') || 0
}

function conditionTime({ status }: Pod, name: string): number | undefined {
  const text = status?.conditions?.find(({ type }) => type === name)?.lastTransitionTime
  const at = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}
