import type { ClusterClient } from '../cluster/cluster-client.ts'
import { EventRecorder, eventSettleMs } from '../cluster/event-recorder.ts'
import { Foreseen, type TakeBack } from '../cluster/foreseen.ts'
import { Informer } from '../cluster/informer.ts'
import { WorkQueue } from '../cluster/work-queue.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import { type ConfigMap, configMapKind } from '../resources/config-map.ts'
import { type KubernetesObject, type ObjectRef, keyOf, refOf } from '../resources/kubernetes-object.ts'
import { type Pod, isPodFinished, podKind } from '../resources/pod.ts'
import { runtimeClassKind } from '../resources/runtime-class.ts'
import { type Secret, secretKind } from '../resources/secret.ts'
import { isStatusError, notFound } from '../resources/status-error.ts'
import { MachineCards } from './cards/machine-cards.ts'
import { HostPortLedger } from './network/host-port-ledger.ts'
import { watchCards } from './cards/card-watch.ts'
import type { Card } from './cards/card.ts'
import type { MachineReadings } from './machine/machine-readings.ts'
import { readNvidiaCards } from './cards/nvidia-cards.ts'
import { LoopbackNetwork } from './network/loopback-network.ts'
import type { PodNames } from './network/pod-names.ts'
import type { PodNetwork } from './network/pod-network.ts'
import { AgentNodes } from './registration/agent-nodes.ts'
import type { NodeShare } from './registration/node-report.ts'
import type { PodRuntime, RunningContainer } from './pod-runtime.ts'
import { type PodStatus, withForeignConditions } from './pods/pod-status.ts'
import type { Tokens } from './volumes/pod-volumes.ts'
import type { PodWorkerServices } from './pods/pod-worker-services.ts'
import { PodWorker } from './pods/pod-worker.ts'
import { type ReferencedNames, readReferences } from './environment/referenced-objects.ts'
import { programRunner, type RunProgram } from './processes/run-program.ts'
import { watchStorage } from './storage/watch-storage.ts'

export interface NodeAgentOptions {
  /** The Node's name: a DNS label, usually the host's name in lower case. */
  readonly name: string
  /** Names of further Nodes that this machine is: all of them share it equally. */
  readonly furtherNames?: readonly string[]
  readonly client: ClusterClient
  readonly runtime: PodRuntime
  /** The machine's, which other clusters may have a share of, too. */
  readonly cards: readonly Card[] | MachineCards
  /** What the cluster has of the machine; of what is not said, everything. Asked again after `shareChanged`. */
  readonly share?: () => NodeShare
  readonly clock: Clock
  readonly log: Logger
  /** This program's version, shown as part of the kubelet's. */
  readonly version: string
  /** Where Pods get their addresses; by default, in the machine's own network. */
  readonly network?: PodNetwork
  /** The host name and resolver files of a Pod with its own network. */
  readonly names?: (pod: Pod, podIPs: readonly string[]) => PodNames
  readonly hostIP?: string
  readonly cpus?: number
  readonly memoryBytes?: number
  /** How long Pods get to end when this program is stopped. */
  readonly stopGraceMs?: number
  /** Makes service account tokens. Without it, Pods that need one wait, and say so. */
  readonly tokens?: Tokens
  /** The environment variables by which a Pod finds Services. */
  readonly serviceVariables?: (pod: Pod) => Readonly<Record<string, string>>
  /** Whether Pods may mount folders of the machine; the runtime must allow it, too. */
  readonly allowHostPath?: boolean
  /** How much the machine has left; by default read from the machine itself. */
  readonly readings?: (folder: string) => MachineReadings
  /** Runs programs of the machine, such as `nvidia-smi`; tests pass their own. */
  readonly run?: RunProgram
}

const programDeadlineMs = 15_000

/** Runs the Pods that are bound to this machine, one `PodWorker` each, and reports their status to the cluster. */
export class NodeAgent implements Component {
  readonly name = 'node'
  readonly #options: NodeAgentOptions
  readonly #pods: Informer<Pod>
  readonly #configMaps: Informer<ConfigMap>
  readonly #secrets: Informer<Secret>
  readonly #queue: WorkQueue
  readonly #nodes: AgentNodes
  readonly #events: EventRecorder
  readonly #network: PodNetwork
  readonly #machineCards: MachineCards
  readonly #hostPorts = new HostPortLedger()
  readonly #hostIP: string
  /** By uid, since a new Pod of the same name may come while the old one's processes still end. */
  readonly #workers = new Map<string, PodWorker>()
  readonly #byKey = new Map<string, Set<PodWorker>>()
  /** Pods that are about to be bound to this node, as they will look then. */
  readonly #foreseen: Foreseen<Pod>
  /** Uids of foreseen Pods that were not bound to this node after all, until everything of them is removed. */
  readonly #notMine = new Set<string>()
  #roomNews = false
  /** By uid: Pods that are gone, or not this node's after all, until everything of them is removed. */
  readonly #vanishing = new Map<string, Promise<void>>()
  readonly #stopping = new AbortController()
  #running: Promise<unknown> = Promise.resolve()

  constructor(options: NodeAgentOptions) {
    this.#options = options
    const { client, clock, log, cards, name, furtherNames = [], version, cpus, memoryBytes, readings } = options
    this.#network = options.network ?? new LoopbackNetwork(`${process.pid}/${name}`, 'nothing else was asked for')
    this.#hostIP = options.hostIP ?? this.#network.hostIP
    this.#pods = new Informer({ client, kind: podKind, clock, log })
    this.#configMaps = new Informer({ client, kind: configMapKind, clock, log })
    this.#secrets = new Informer({ client, kind: secretKind, clock, log })
    this.#queue = new WorkQueue({
      name: 'node',
      clock,
      log,
      concurrency: 16,
      reconcile: (ref, signal) => this.#reconcile(ref, signal),
    })
    this.#events = new EventRecorder({ client, component: 'kubelet', clock, log, settleMs: eventSettleMs })
    this.#machineCards = cards instanceof MachineCards ? cards : new MachineCards(cards)
    this.#nodes = new AgentNodes({
      names: [name, ...furtherNames],
      client,
      machineCards: this.#machineCards,
      share: () => this.#options.share?.() ?? {},
      network: this.#network,
      hostIP: this.#hostIP,
      version,
      cpus,
      memoryBytes,
      readings,
      clock,
      log,
    })
    this.#foreseen = new Foreseen(clock)
  }

  /** Takes over what still runs, registers the Node, and begins to work. */
  async start(signal: AbortSignal): Promise<void> {
    const { runtime, clock, log } = this.#options
    const cards = this.#machineCards.all
    const adopted = await runtime.adopt()
    this.#nodes.describe(await runtime.facts())
    await this.#nodes.removeFormer(signal)
    // Before any Pod is looked at, so that running Pods keep their addresses and cards.
    await this.#network.adopt(new Map(adopted.map(({ podUid, podIP }) => [podUid, podIP])))
    this.#pods.onChange(({ object, previous }) => {
      if (!this.#isMine(object) && !(previous && this.#isMine(previous))) return
      this.#foreseen.settle(keyOf(refOf(object)))
      this.#queue.add(refOf(object))
    })
    const stopping = this.#stopping.signal
    const informing = this.#pods.run(stopping)
    await this.#pods.whenSynced(AbortSignal.any([signal, stopping]))
    const known = new Map(this.#pods.list().map((pod) => [pod.metadata.uid, pod]))
    for (const { podUid, container, cards: held } of adopted) {
      this.#nodes.cardsFor(known.get(podUid)).remember(podUid, container, held)
    }
    await this.#takeOver(Map.groupBy(adopted, ({ podUid }) => podUid))
    this.#configMaps.onChange(({ object }) => this.#referenceChanged('configMaps', object))
    this.#secrets.onChange(({ object }) => this.#referenceChanged('secrets', object))
    await this.#nodes.report(true, signal)
    const run = this.#options.run ?? programRunner(clock, programDeadlineMs)
    const onLost = (indices: ReadonlySet<number>, problems: readonly string[]) => {
      log.warn({ cards: [...indices], problems }, 'cards do not answer')
      this.#machineCards.setLost(indices)
      this.#nodes.reportSoon()
    }
    this.#running = Promise.all([
      informing,
      this.#configMaps.run(stopping),
      this.#secrets.run(stopping),
      this.#queue.run(stopping),
      this.#nodes.heartbeat(stopping),
      watchStorage(
        {
          clock,
          log,
          pods: () => this.#workers.values(),
          measure: (pod, signal) => runtime.storageOf(pod, signal),
        },
        stopping,
      ),
      this.#followCards(stopping),
      watchCards({ cards, clock, read: (deadline) => readNvidiaCards(run, deadline), onLost }, stopping),
    ])
  }

  /** Ends all Pods' processes, and leaves the Pods so that the next start runs them again. */
  async stop(signal: AbortSignal): Promise<void> {
    const { stopGraceMs = 5000, log } = this.#options
    this.#stopping.abort(new Error('the node stops'))
    this.#foreseen.clear()
    await this.#running
    const leaving = [...this.#workers.values()].map((worker) =>
      worker.leave(stopGraceMs, signal).catch((error: unknown) => {
        if (!isStatusError(error, 'NotFound'))
          log.warn({ err: error, pod: worker.identity }, 'a Pod was not left cleanly')
      }),
    )
    await Promise.all([...leaving, ...this.#vanishing.values()])
    // Other clusters may go on, and have them.
    for (const uid of this.#workers.keys()) {
      this.#network.release(uid)
      this.#nodes.releaseCards(uid)
    }
    await this.#nodes.report(false, signal)
    await this.#events.idle()
  }

  /**
   * Tells that a Pod is about to be bound. If it is to this node, it is started at once; if the binding fails, it is
   * removed like any Pod that is not this node's.
   */
  foresee(pod: Pod): TakeBack | undefined {
    if (!this.#isMine(pod) || this.#stopping.signal.aborted) return undefined
    const { uid = '' } = pod.metadata
    const takeBack = this.#foreseen.add(keyOf(refOf(pod)), pod, () => {
      // Without a worker, nothing was begun.
      if (this.#workers.has(uid)) this.#notMine.add(uid)
      this.#queue.add(refOf(pod))
    })
    this.#queue.add(refOf(pod))
    return takeBack
  }

  /** The cluster has more or less of the machine than before. */
  shareChanged(): void {
    this.#nodes.reportSoon()
    this.#roomFreed()
  }

  /** Cards that are in some Pod's hands. */
  get heldCards(): number {
    return this.#nodes.heldCards
  }

  /** What Pods of other clusters take and let go of is there for this one's or not. */
  async #followCards(signal: AbortSignal): Promise<void> {
    const unsubscribe = this.#machineCards.onChange(() => {
      if (!this.#nodes.hasOtherCards) return
      this.#nodes.reportSoon()
      this.#roomFreed()
    })
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    unsubscribe()
  }

  /** Tells waiting Pods only once per turn of the event loop: hundreds may end together, and hundreds may wait. */
  #roomFreed(): void {
    if (this.#roomNews) return
    this.#roomNews = true
    setImmediate(() => {
      this.#roomNews = false
      for (const worker of this.#workers.values()) worker.roomFreed()
    })
  }

  /** Tells the Pods of the namespace, which may wait for the object or have it mounted. */
  #referenceChanged(kind: keyof ReferencedNames, { metadata }: KubernetesObject): void {
    for (const worker of this.#workers.values()) {
      if (worker.identity.namespace === metadata.namespace) worker.referenceChanged(kind, metadata.name)
    }
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const key = keyOf(ref)
    const known = this.#pods.get(ref)
    // Bound in another attempt, before anything was removed.
    if (known && this.#isMine(known)) this.#notMine.delete(known.metadata.uid ?? '')
    const mine = this.#mine(key, known)
    for (const worker of this.#byKey.get(key) ?? []) {
      if (worker.identity.uid !== mine?.metadata.uid) this.#vanish(key, worker)
    }
    if (!mine) return {}
    const uid = mine.metadata.uid ?? ''
    const vanishing = this.#vanishing.get(uid)
    // It comes back: what was begun for it before must not be removed under its new worker.
    if (vanishing) return vanishing.then(() => this.#reconcile(ref, signal))
    const worker = this.#workers.get(uid) ?? this.#newWorker(key, mine, [])
    return worker.step(mine, signal)
  }

  /** The Pod, if it is bound to this node or about to be. */
  #mine(key: string, pod: Pod | undefined): Pod | undefined {
    if (pod && this.#isMine(pod)) return pod
    const foreseen = this.#foreseen.get(key)
    const isOther = pod && (pod.metadata.uid !== foreseen?.metadata.uid || Boolean(pod.spec.nodeName))
    return isOther ? undefined : foreseen
  }

  #newWorker(key: string, pod: Pod, adopted: readonly RunningContainer[]): PodWorker {
    if (pod.status?.startTime !== undefined && !isPodFinished(pod)) this.#hostPorts.hold(pod)
    const worker = new PodWorker(pod, adopted, this.#servicesFor(pod))
    this.#workers.set(worker.identity.uid, worker)
    this.#byKey.set(key, (this.#byKey.get(key) ?? new Set()).add(worker))
    return worker
  }

  #vanish(key: string, worker: PodWorker): void {
    const siblings = this.#byKey.get(key)
    siblings?.delete(worker)
    if (siblings?.size === 0) this.#byKey.delete(key)
    const { uid } = worker.identity
    this.#workers.delete(uid)
    this.#notMine.delete(uid)
    const vanishing = worker
      .vanish()
      .catch((error: unknown) => this.#options.log.error({ err: error, pod: worker.identity }, 'cleaning up failed'))
      .finally(() => this.#vanishing.delete(uid))
    this.#vanishing.set(uid, vanishing)
  }

  /**
   * Hands running containers to the workers of their Pods, ends those without a Pod, and removes files of Pods that are
   * gone.
   */
  async #takeOver(adopted: ReadonlyMap<string, readonly RunningContainer[]>): Promise<void> {
    const { runtime, log, stopGraceMs = 5000 } = this.#options
    const mine = new Set<string>()
    for (const pod of this.#pods.list()) {
      if (!this.#isMine(pod)) continue
      const { uid = '' } = pod.metadata
      mine.add(uid)
      this.#newWorker(keyOf(refOf(pod)), pod, adopted.get(uid) ?? [])
      this.#queue.add(refOf(pod))
    }
    const orphans = [...adopted.keys()].filter((uid) => !mine.has(uid))
    const ending = orphans.map(async (uid) => {
      log.warn({ pod: uid }, 'ending processes of a Pod that is gone')
      await runtime.stop(uid, stopGraceMs)
      this.#network.release(uid)
      this.#nodes.releaseCards(uid)
    })
    await Promise.all(ending)
    await runtime.retain(mine)
  }

  #servicesFor(pod: Pod): PodWorkerServices {
    const ref = refOf(pod)
    const { runtime, clock, log, client, tokens, names, serviceVariables, allowHostPath = false } = this.#options
    return {
      runtime,
      clock,
      log: log.child({ pod: keyOf(ref) }),
      network: this.#network,
      cards: this.#nodes.cardsFor(pod),
      hostPorts: this.#hostPorts,
      hostIP: this.#hostIP,
      hostIP6: this.#network.hostIP6,
      simulatedCards: this.#machineCards.all.some(({ simulated }) => simulated),
      hostPathAllowed: allowHostPath,
      tokens,
      names,
      serviceVariables,
      allocatable: this.#nodes.allocatableFor(pod),
      references: (pod, names, signal) => readReferences(client, pod.metadata.namespace ?? '', names, signal),
      runtimeClass: (name, signal) => client.get(runtimeClassKind, { name }, signal),
      event: (pod, type, reason, message) => this.#events.record(pod, type, reason, message),
      wake: () => this.#queue.add(ref),
      roomFreed: () => this.#roomFreed(),
      writeStatus: (pod, status, signal) => this.#writeStatus(pod, status, signal),
      remove: async (pod, signal) => {
        try {
          await client.delete(podKind, refOf(pod), { graceSeconds: 0, uid: pod.metadata.uid }, signal)
        } catch (error) {
          if (!isStatusError(error, 'NotFound', 'Conflict')) throw error
        }
      },
    }
  }

  /** This node is the only writer of a bound Pod's status, except for conditions that others set. */
  async #writeStatus(pod: Pod, status: PodStatus, signal: AbortSignal): Promise<boolean> {
    const { uid = '' } = pod.metadata
    if (this.#notMine.has(uid)) return false
    const change = (current: Pod): Pod => {
      // Nobody expects a Pod to run before it is bound.
      if (current.metadata.uid !== uid || !this.#isMine(current)) throw notFound(podKind, pod.metadata.name)
      const conditions = withForeignConditions(status.conditions ?? [], current.status?.conditions ?? [])
      return { ...current, status: { ...status, conditions } }
    }
    try {
      await this.#options.client.changeStatus(podKind, refOf(pod), change, signal)
      return true
    } catch (error) {
      // The Pod is gone, or not created or bound yet; either way the cache will tell soon.
      if (!isStatusError(error, 'NotFound', 'Conflict')) throw error
      return false
    }
  }

  #isMine(pod: Pod): boolean {
    return this.#nodes.has(pod)
  }
}
