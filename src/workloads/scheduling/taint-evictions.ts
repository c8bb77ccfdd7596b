import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { Events } from '../../cluster/event-recorder.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type ObjectRef, keyOf, refOf, withCondition } from '../../resources/kubernetes-object.ts'
import type { Node } from '../../resources/node.ts'
import { type Pod, isPodTerminating, podKind } from '../../resources/pod.ts'
import { ignoreGone, ignoreGoneOrChanged } from '../ignore-gone.ts'
import { retryConflicts } from '../retry-conflicts.ts'
import { drivesPodsAway, toleratedMs } from './tolerated-taints.ts'

export interface TaintEvictionsOptions {
  readonly client: ClusterClient
  readonly pods: ObjectCache<Pod>
  readonly nodes: ObjectCache<Node>
  readonly events: Events
  readonly clock: Clock
  readonly log: Logger
}

/** Evicts Pods from a node whose `NoExecute` taints they do not tolerate, or no longer. */
export class TaintEvictions {
  readonly #options: TaintEvictionsOptions
  readonly #queue: WorkQueue
  /** Since when a Pod has been on such a node, as far as that was seen. */
  readonly #since = new Map<string, number>()

  constructor(options: TaintEvictionsOptions) {
    this.#options = options
    const { pods, nodes, clock, log } = options
    const reconcile = retryConflicts((ref, signal) => this.#reconcile(ref, signal))
    this.#queue = new WorkQueue({ name: 'taint-evictions', clock, log, reconcile })
    pods.onChange(({ type, object }) => {
      if (type === 'deleted') this.#since.delete(keyOf(refOf(object)))
      else if (drivesPodsAway(this.#nodeOf(object))) this.#queue.add(refOf(object))
    })
    nodes.onChange(({ object, previous }) => {
      if (!drivesPodsAway(object) && !drivesPodsAway(previous)) return
      for (const pod of pods.list()) {
        if (pod.spec.nodeName === object.metadata.name) this.#queue.add(refOf(pod))
      }
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  #nodeOf({ spec }: Pod): Node | undefined {
    return spec.nodeName === undefined ? undefined : this.#options.nodes.get({ name: spec.nodeName })
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { client, pods, events, clock } = this.#options
    const key = keyOf(ref)
    const pod = pods.get(ref)
    const node = pod && this.#nodeOf(pod)
    const stays = pod && node && drivesPodsAway(node) ? toleratedMs(pod, node) : undefined
    if (!pod || stays === undefined || isPodTerminating(pod)) {
      this.#since.delete(key)
      return {}
    }
    const since = this.#since.get(key) ?? clock.now()
    this.#since.set(key, since)
    const left = since + stays - clock.now()
    if (left > 0) return { requeueAfterMs: left }
    await this.#tell(pod, signal)
    events.record(pod, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${key}`)
    await client.delete(podKind, refOf(pod), { uid: pod.metadata.uid }, signal).catch(ignoreGoneOrChanged)
    return {}
  }

  /** Marks the Pod, so that controllers that count failures can tell this from the Pod's own failure. */
  async #tell(pod: Pod, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options
    const reason = { reason: 'DeletionByTaintManager', message: 'Taint manager: deleting due to NoExecute taint' }
    const disrupted = { type: 'DisruptionTarget', status: 'True' as const, ...reason }
    const conditions = withCondition(pod.status?.conditions, disrupted, clock.now())
    const told = { ...pod, status: { ...pod.status, conditions } }
    await client.updateStatus(podKind, told, signal).catch(ignoreGone)
  }
}
