import { isDeepStrictEqual } from 'node:util'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { EventRecorder } from '../../cluster/event-recorder.ts'
import { type Foresee, Foreseen, type TakeBack } from '../../cluster/foreseen.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type ObjectRef, keyOf, refOf, withCondition } from '../../resources/kubernetes-object.ts'
import { type Node, isNodeReady } from '../../resources/node.ts'
import type { PersistentVolumeClaim } from '../../resources/persistent-volume-claim.ts'
import { type Pod, isPodFinished, podKind } from '../../resources/pod.ts'
import { isGated, membershipOf } from '../../resources/serving-group.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { GroupMembers } from './group-members.ts'
import { NodeLedger } from './node-ledger.ts'
import { missingClaim } from './missing-claim.ts'
import { type GroupPlacement, placeGroup } from './place-group.ts'

export interface SchedulerOptions {
  readonly client: ClusterClient
  readonly pods: ObjectCache<Pod>
  readonly nodes: ObjectCache<Node>
  readonly claims: ObjectCache<PersistentVolumeClaim>
  readonly events: Pick<EventRecorder, 'record'>
  readonly clock: Clock
  readonly log: Logger
  /** Told of a Pod with the node it is about to get, so that a node in the same program need not wait for the write. */
  readonly foresee?: Foresee<Pod> | undefined
}

interface Assignment {
  readonly node: string
  /** To be called if the Pod does not get the node. */
  readonly takeBack: TakeBack | undefined
}

/**
 * When there may be room, the Pods that wait longest are tried at once, since somebody may wait for them; the others
 * within a second, which is where Kubernetes begins (1 s up to 10 s per Pod): thousands that do not fit must not be
 * tried for each Pod that ends.
 */
const atOnce = 64
const othersMs = 1_000

/**
 * Gives Pods a node. Each placement counts for the next: it is decided and recorded before anything is awaited. The
 * Pods of a serving group are placed together or not at all.
 */
export class Scheduler {
  readonly #options: SchedulerOptions
  readonly #queue: WorkQueue
  readonly #ledger = new NodeLedger()
  readonly #groups = new GroupMembers()
  /** The uids of Pods that are being bound. */
  readonly #binding = new Set<string>()
  /** Pods that did not fit; tried again when something changes that could make room. */
  readonly #unplaced = new Map<string, ObjectRef>()
  /** The nodes of Pods that are about to be written, by uid. */
  readonly #foreseen: Foreseen<Assignment>

  constructor(options: SchedulerOptions) {
    this.#options = options
    const { clock, log, pods, nodes, claims } = options
    this.#foreseen = new Foreseen(clock)
    const reconcile = (ref: ObjectRef, signal: AbortSignal) => this.#place(ref, signal)
    this.#queue = new WorkQueue({ name: 'scheduler', clock, log, concurrency: 16, reconcile })
    pods.onChange(({ type, object }) => {
      if (type === 'deleted') this.#ledger.remove(object)
      else this.#ledger.put(object)
      this.#groups.note(object, type === 'deleted')
      if (type === 'deleted' || !waitsForNode(object)) {
        this.#binding.delete(object.metadata.uid ?? '')
        this.#settle(object)?.takeBack?.()
      }
      if (waitsForNode(object) && type !== 'deleted') this.#queue.add(refOf(object))
      else if (type === 'deleted' || isPodFinished(object)) this.#retry()
    })
    nodes.onChange(({ object, previous }) => {
      if (!previous || couldMakeRoom(previous, object)) this.#retry()
    })
    claims.onChange(({ type }) => {
      if (type === 'added') this.#retry()
    })
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#queue.run(signal)
    this.#foreseen.clear()
  }

  /**
   * The Pod is about to be written and somebody waits for it: it is placed at once if there is room, and bound when it
   * exists.
   */
  foresee(pod: Pod): TakeBack | undefined {
    // The others of its group are not there yet.
    if (!waitsForNode(pod) || membershipOf(pod)) return undefined
    const placement = this.#findPlaces([pod])
    const [node] = 'nodes' in placement ? placement.nodes : []
    if (node === undefined) return undefined
    const assignment = this.#assign(pod, node)
    return this.#foreseen.add(pod.metadata.uid ?? '', assignment, () => {
      this.#ledger.remove(pod)
      assignment.takeBack?.()
    })
  }

  #findPlaces(pods: readonly Pod[]): GroupPlacement {
    const nodes = this.#options.nodes.list()
    for (const pod of pods) {
      const missing = missingClaim(pod, this.#options.claims)
      if (missing !== undefined) return { unschedulable: `0/${nodes.length} nodes are available: ${missing}.` }
    }
    return placeGroup(pods, nodes, this.#ledger.totals)
  }

  #assign(pod: Pod, node: string): Assignment {
    this.#ledger.put(pod, node)
    return { node, takeBack: this.#options.foresee?.({ ...pod, spec: { ...pod.spec, nodeName: node } }) }
  }

  #settle({ metadata: { uid = '' } }: Pod): Assignment | undefined {
    return this.#foreseen.settle(uid)
  }

  #retry(): void {
    let index = 0
    for (const ref of this.#unplaced.values()) this.#queue.addAfter(ref, index++ < atOnce ? 0 : othersMs)
  }

  async #place(ref: ObjectRef, signal: AbortSignal): Promise<void> {
    const pod = this.#options.pods.get(ref)
    this.#unplaced.delete(keyOf(ref))
    if (!pod || !this.#waits(pod)) return
    const foreseen = this.#settle(pod)
    if (foreseen) return this.#bind(pod, foreseen, signal)
    const placed = this.#placeTogether(pod)
    if ('unschedulable' in placed) {
      this.#unplaced.set(keyOf(ref), ref)
      return this.#explain(pod, placed.unschedulable, signal)
    }
    const bindings = await Promise.allSettled(placed.map(([one, node]) => this.#bind(one, node, signal)))
    for (const binding of bindings) if (binding.status === 'rejected') throw binding.reason
  }

  /** All Pods of its group get their nodes in this turn, or none does. */
  #placeTogether(pod: Pod): ReadonlyArray<readonly [Pod, Assignment]> | { readonly unschedulable: string } {
    const together = this.#groups.placedWith(pod, (one) => this.#waits(one))
    if ('unschedulable' in together) return together
    const placement = this.#findPlaces(together.pods)
    if ('unschedulable' in placement) return placement
    return placement.nodes.flatMap((node, index) => {
      const one = together.pods[index]
      return one ? [[one, this.#assign(one, node)] as const] : []
    })
  }

  #waits(pod: Pod): boolean {
    return waitsForNode(pod) && !this.#binding.has(pod.metadata.uid ?? '')
  }

  async #bind(pod: Pod, placed: Assignment, signal: AbortSignal): Promise<void> {
    const { client, events } = this.#options
    const ref = refOf(pod)
    const { uid = '' } = pod.metadata
    // Until the cache shows its node, so that others of its group do not place it again.
    this.#binding.add(uid)
    try {
      await client.patch(podKind, ref, { metadata: { uid }, spec: { nodeName: placed.node } }, signal)
    } catch (error) {
      this.#binding.delete(uid)
      this.#ledger.remove(pod)
      placed.takeBack?.()
      // Deleted, replaced or bound by somebody else meanwhile: the cache will tell.
      if (isStatusError(error, 'NotFound', 'Conflict', 'Invalid')) return
      throw error
    }
    events.record(pod, 'Normal', 'Scheduled', `Successfully assigned ${keyOf(ref)} to ${placed.node}`)
  }

  async #explain(pod: Pod, message: string, signal: AbortSignal): Promise<void> {
    const { client, clock, events } = this.#options
    const known = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
    if (known?.message === message) return
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message } as const
    const conditions = withCondition(pod.status?.conditions, condition, clock.now())
    try {
      await client.updateStatus(podKind, { ...pod, status: { ...pod.status, conditions } }, signal)
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return
      throw error
    }
    events.record(pod, 'Warning', 'FailedScheduling', message)
  }
}

/** A node reports every few seconds that it is alive, which makes no room. */
function couldMakeRoom(before: Node, now: Node): boolean {
  const facts = (node: Node) => [node.spec, node.metadata.labels, node.status?.allocatable, isNodeReady(node)]
  return !isDeepStrictEqual(facts(before), facts(now))
}

function waitsForNode(pod: Pod): boolean {
  const { nodeName } = pod.spec
  const scheduler = pod.spec['schedulerName'] ?? 'default-scheduler'
  const unbound = nodeName === undefined || nodeName === ''
  const waits = unbound && !isGated(pod) && !isPodFinished(pod)
  return waits && pod.metadata.deletionTimestamp === undefined && scheduler === 'default-scheduler'
}
