import { ClusterApi } from '../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { EventRecorder } from '../cluster/event-recorder.ts'
import { Informer } from '../cluster/informer.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { declaredCards } from '../node/cards/gpu-inventory.ts'
import { NodeAgent } from '../node/node-agent.ts'
import type { ContainerExit, ContainerLaunch, PodRuntime, RunningContainer } from '../node/pod-runtime.ts'
import type { PodNetwork } from '../node/network/pod-network.ts'
import { ModelController } from '../operator/model-controller.ts'
import { builtInProfiles } from '../operator/resource-profile.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { modelKind } from '../resources/model.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { nodeKind } from '../resources/node.ts'
import { persistentVolumeClaimKind, userDataClaim } from '../resources/persistent-volume-claim.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import { secretKind } from '../resources/secret.ts'
import { MemoryStore } from '../store/memory-store.ts'
import type { Store } from '../store/store.ts'
import { Scheduler } from '../workloads/scheduling/scheduler.ts'
import { WakeForesight } from './wake-foresight.ts'

const namespace = 'sluice'
const card = 'nvidia.com/gpu-l40s'
export const cardCount = 3
const never = new Promise<never>(() => {})

interface WaitingWrite {
  commit(): void
  fail(): void
}

/** The disk, on which writes can be made to wait until the test commits them or lets them fail. */
class Disk {
  readonly store = new MemoryStore()
  isSlow = false
  #waiting: WaitingWrite[] = []

  write<T>(act: () => Promise<T>): Promise<T> {
    if (!this.isSlow) return act()
    return new Promise((resolve, reject) => {
      const commit = () => void act().then(resolve, reject)
      this.#waiting.push({ commit, fail: () => reject(new Error('the disk did not take it')) })
    })
  }

  commit(): void {
    for (const write of this.#waiting.splice(0)) write.commit()
  }

  fail(): void {
    for (const write of this.#waiting.splice(0)) write.fail()
  }
}

/** What runs on the machine, no matter which run of the program started it. */
class Machine {
  readonly running = new Map<string, RunningContainer & { readonly end: (exit: ContainerExit) => void }>()

  start({ pod, container, attempt, podIP, cards }: ContainerLaunch, startedAt: number): RunningContainer {
    const podUid = pod.metadata.uid ?? ''
    const { promise: exited, resolve: end } = Promise.withResolvers<ContainerExit>()
    const running = { podUid, container: container.name, attempt, podIP, cards, pid: 1, startedAt, exited, end }
    this.running.set(podUid, running)
    return running
  }

  stop(podUid: string, finishedAt: number): void {
    this.running.get(podUid)?.end({ exitCode: 0, reason: 'Completed', finishedAt })
    this.running.delete(podUid)
  }
}

/** One run of the program on the stage's disk and machine, until it is cut off from them. */
class Run {
  readonly #disk: Disk
  readonly #machine: Machine
  readonly #clock: FakeClock
  readonly #stopping = new AbortController()
  readonly client: EmbeddedClient
  readonly foresight: WakeForesight
  #operator: ModelController | undefined
  #scheduler: Scheduler | undefined
  #node: NodeAgent | undefined
  #isCutOff = false

  constructor(disk: Disk, machine: Machine, clock: FakeClock, foresees: boolean) {
    this.#disk = disk
    this.#machine = machine
    this.#clock = clock
    this.foresight = new WakeForesight(
      {
        operator: (coming) => (foresees ? this.#operator?.foresee(coming) : undefined),
        scheduler: (pod) => (foresees ? this.#scheduler?.foresee(pod) : undefined),
        node: (pod) => (foresees ? this.#node?.foresee(pod) : undefined),
      },
      async () => {},
    )
    const kinds = [...coreKinds, ...customKinds]
    const plugins = [this.foresight.admission]
    this.client = new EmbeddedClient(new ClusterApi({ store: this.#store(), kinds, clock, plugins }))
  }

  async start(): Promise<void> {
    const { signal } = this.#stopping
    const parts = { client: this.client, clock: this.#clock, log: silentLogger }
    const events = new EventRecorder({ ...parts, component: 'test' })
    const models = new Informer({ ...parts, kind: modelKind })
    const pods = new Informer({ ...parts, kind: podKind })
    const nodes = new Informer({ ...parts, kind: nodeKind })
    const secrets = new Informer({ ...parts, kind: secretKind, scope: { namespace } })
    const claims = new Informer({ ...parts, kind: persistentVolumeClaimKind })
    for (const informer of [models, pods, nodes, secrets, claims]) void informer.run(signal)
    this.#node = new NodeAgent({
      ...parts,
      name: 'here',
      runtime: this.#runtime(),
      network: network(),
      cards: declaredCards(`${card}=${cardCount}`),
      version: '0.1.0',
      memoryBytes: 2 ** 34,
      cpus: 4,
    })
    this.#scheduler = new Scheduler({ ...parts, pods, nodes, claims, events, foresee: this.foresight.placement })
    this.#operator = new ModelController({
      ...parts,
      models,
      pods,
      secrets,
      events,
      files: { check: () => ({ state: 'present' }) },
      registry: () => 'registry.local-1.localhost',
      version: '0.1.0',
      profiles: () => ({ table: builtInProfiles, cardKinds: [card] }),
      busy: () => 0,
    })
    void this.#scheduler.run(signal)
    void this.#operator.run(signal)
    await this.#node.start(signal)
  }

  /** Scales as the autoscaler does. */
  async scale(replicas: number): Promise<void> {
    const model = { namespace, name: 'm' }
    const takeBack = this.foresight.replicas({ model, replicas })
    await this.foresight.lastCall()
    try {
      await this.client.scale(modelKind, model, replicas)
    } catch {
      takeBack?.()
    }
  }

  /** From now on nothing that it does has any effect, and it hears nothing more. */
  cutOff(): void {
    this.#isCutOff = true
    this.#stopping.abort()
  }

  #store(): Store {
    const { store } = this.#disk
    const write = async <T>(act: () => Promise<T>): Promise<T> => {
      if (this.#isCutOff) return never
      const done = await this.#disk
        .write(act)
        .catch((error: unknown) => (this.#isCutOff ? never : Promise.reject(error)))
      return this.#isCutOff ? never : done
    }
    return {
      get revision() {
        return store.revision
      },
      get: (key) => store.get(key),
      list: (selector) => store.list(selector),
      create: (key, object) => write(() => store.create(key, object)),
      update: (key, object, revision) => write(() => store.update(key, object, revision)),
      delete: (key, revision) => write(() => store.delete(key, revision)),
      watch: (selector, from, signal) => store.watch(selector, from, AbortSignal.any([signal, this.#stopping.signal])),
      jsonOf: (object) => store.jsonOf(object),
      close: () => store.close(),
    }
  }

  #runtime(): PodRuntime {
    const act = async <T>(does: () => T): Promise<T> => (this.#isCutOff ? never : does())
    return {
      start: (launch) => act(() => this.#machine.start(launch, this.#clock.now())),
      stop: (podUid) => act(() => this.#machine.stop(podUid, this.#clock.now())),
      adopt: () => act(() => [...this.#machine.running.values()]),
      unsettled: () => [],
      settle: async () => {},
      writeVolume: async () => true,
      exec: () => never,
      storageOf: async () => undefined,
      removeVolumes: async () => {},
      facts: async () => ({
        namespaces: false,
        isolationMessage: '',
        limitsEnforced: false,
        limitsMessage: '',
        folder: '/',
      }),
      forget: async () => {},
      retain: async () => {},
    }
  }
}

/** A cluster with one Model and a node with three cards. The test controls the disk and the runs of the program. */
export class WakeStage {
  readonly clock = new FakeClock()
  readonly #disk = new Disk()
  readonly #machine = new Machine()
  readonly #foresees: boolean
  #run: Run

  constructor(foresees: boolean) {
    this.#foresees = foresees
    this.#run = new Run(this.#disk, this.#machine, this.clock, foresees)
  }

  async open(): Promise<this> {
    const { client } = this.#run
    await client.create(namespaceKind, { metadata: { name: namespace } })
    const claim = { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } }
    await client.create(persistentVolumeClaimKind, { metadata: { name: userDataClaim, namespace }, spec: claim })
    const spec = {
      url: 'pvc://userdata/models/m',
      engine: 'LlamaCpp',
      maxReplicas: cardCount,
      resourceProfile: `${card}:1`,
    }
    await client.create(modelKind, { metadata: { name: 'm', namespace }, spec })
    await this.#run.start()
    this.#disk.isSlow = true
    return this
  }

  scale(replicas: number): void {
    void this.#run.scale(replicas)
  }

  /** From now on, writes wait until they are committed or fail. */
  slowDisk(): void {
    this.#disk.isSlow = true
  }

  commit(): void {
    this.#disk.commit()
  }

  fail(): void {
    this.#disk.fail()
  }

  /** Kills the program and starts it again. What it was about to write has reached the disk or not. */
  async crash(reachedDisk: boolean): Promise<void> {
    this.#run.cutOff()
    if (reachedDisk) this.#disk.commit()
    else this.#disk.fail()
    this.#disk.isSlow = false
    this.#run = new Run(this.#disk, this.#machine, this.clock, this.#foresees)
    const starting = this.#run.start()
    await this.clock.advance(1000)
    await starting
    this.#disk.isSlow = true
  }

  /** Waits until nothing changes any more, on a disk that accepts everything. */
  async settle(): Promise<void> {
    this.#disk.isSlow = false
    this.#disk.commit()
    for (let second = 0; second < 120; second += 1) await this.clock.advance(1000)
  }

  /** What the Model asks for, which of its objects exist, and what runs. */
  async state() {
    const { client } = this.#run
    const model = await client.get(modelKind, { namespace, name: 'm' })
    const { items: pods } = await client.list(podKind, { namespace })
    const uidsOf = (of: readonly Pod[]) => of.map(({ metadata }) => metadata.uid ?? '').toSorted()
    return {
      replicas: model?.spec.replicas ?? 0,
      pods: uidsOf(pods),
      bound: uidsOf(pods.filter(({ spec }) => spec.nodeName === 'here')),
      running: [...this.#machine.running.keys()].toSorted(),
      cards: new Set([...this.#machine.running.values()].flatMap(({ cards }) => cards)).size,
    }
  }

  close(): void {
    this.#run.cutOff()
  }
}

function network(): PodNetwork {
  let places = 0
  const facts = { ownNetworks: false, message: '', rulesInForce: false, rulesMessage: '' }
  return {
    facts,
    hostIP: '127.0.0.1',
    adopt: async () => {},
    place: async () => ({ address: `127.64.0.${++places}`, namespace: '' }),
    admit: async () => {},
    of: () => undefined,
    release: () => {},
    nextNamespace: undefined,
    onNextNamespace: () => () => {},
    leadsServices: false,
    isInUse: false,
    close: async () => {},
  }
}
