import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { type Clock, abortReason } from '../foundation/clock.ts'
import { errorMessage } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import type { Pod } from '../resources/pod.ts'
import { execInContainer } from './containers/container-exec.ts'
import { type ContainerInput, closeAll, makeInput, openInput, tellContainer } from './containers/container-input.ts'
import { ContainerLauncher } from './containers/container-launcher.ts'
import { ContainerProcess } from './containers/container-process.ts'
import { ContainerStarts, type NextNetwork, machineNetwork } from './containers/container-starts.ts'
import { collectEnd, withLastWords } from './containers/container-end.ts'
import { readExitFile } from './containers/exit-file.ts'
import type { ImageStore } from './images/image-store.ts'
import { Cgroups, removeGroups } from './isolation/cgroups.ts'
import { type Isolation, type IsolationChoice, detectIsolation } from './isolation/detect-isolation.ts'
import { LogCollector, type LogLimits } from './logs/log-collector.ts'
import { containerLogFolder, rawPath, removeOldLogs } from './logs/log-files.ts'
import type { LogHub } from './logs/log-hub.ts'
import { LogTurns } from './logs/log-turns.ts'
import { nodeIdOf } from './registration/node-id.ts'
import { PodFolders } from './pods/pod-folders.ts'
import { containerParts } from './pods/pod-parts.ts'
import { type ContainerRecord, PodRecords, recordOf } from './pods/pod-records.ts'
import {
  type ContainerExit,
  type ContainerLaunch,
  ContainerRefused,
  type EndedContainer,
  type ExecResult,
  type ExecStreams,
  type PodIdentity,
  type PodRuntime,
  type RunningContainer,
  type RuntimeFacts,
} from './pod-runtime.ts'
import { type ProcessIdentity, isAlive, readBootId, signalGroup } from './processes/process-identity.ts'
import { containerMarks, endUnowned, processMarks, shellMark } from './processes/process-marks.ts'
import { ProcessSearch } from './processes/process-search.ts'
import { runtimeFacts } from './registration/runtime-facts.ts'
import { storageUse } from './storage/measure-storage.ts'
import type { StorageUse } from './storage/storage-limits.ts'
import { unsafeName } from './pods/unsupported-pod.ts'
import { publishFiles } from './volumes/published-folder.ts'
import { MemoryMounts } from './volumes/memory-mounts.ts'
import { mountMemoryVolumes } from './volumes/pod-memory.ts'
import type { VolumeFiles } from './volumes/volume-files.ts'
import { VolumeGroups } from './volumes/volume-groups.ts'

export interface ProcessRuntimeOptions {
  readonly dataDir: string
  readonly images: ImageStore
  readonly clock: Clock
  readonly log: Logger
  readonly logHub: LogHub
  readonly hostIP?: string
  readonly hostIP6?: string | undefined
  /** The network namespace that the next Pod will be in: a container can be made ready there. */
  readonly networks?: NextNetwork
  readonly logLimits?: LogLimits
  /** Whether containers get namespaces of their own: where the machine permits it, unless something else is said. */
  readonly isolation?: IsolationChoice | Isolation
  /** Whether limits are enforced by cgroups where the machine permits it; true unless said otherwise. */
  readonly enforceLimits?: boolean
  /** Whether Pods may mount the machine's own folders; false unless said otherwise. */
  readonly allowHostPath?: boolean
}

interface OwnedContainer extends RunningContainer {
  readonly process: ContainerProcess
  readonly collector: LogCollector
  readonly record: ContainerRecord
  /** Keeps the container's input from ending before somebody attached has left. */
  heldInput?: number | undefined
}

/** Containers as processes of this machine, each with a process group (and, where permitted, namespaces) of its own. */
export class ProcessRuntime implements PodRuntime {
  /** Tells this node's processes from those of another one on the same machine. */
  readonly nodeId: string
  readonly #options: ProcessRuntimeOptions
  readonly #records: PodRecords
  /** What runs, by Pod and container. */
  readonly #pods = new Map<string, Map<string, OwnedContainer>>()
  readonly #folders: PodFolders
  readonly #cgroups: Cgroups
  readonly #volumeGroups: VolumeGroups
  readonly #search = new ProcessSearch()
  readonly #logTurns = new LogTurns()
  readonly #starts: ContainerStarts
  #isolation: Promise<Isolation> | undefined
  #closed = false

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options
    let nodeId = ''
    const mounts = new MemoryMounts(options.clock)
    this.#folders = new PodFolders(options.dataDir, (folder) => (nodeId = nodeIdOf(folder)), mounts)
    this.nodeId = nodeId
    const owner = { owner: this.#folders.node, env: { [shellMark]: nodeId } }
    this.#records = new PodRecords(join(this.#folders.node, 'pods'))
    this.#volumeGroups = new VolumeGroups(options.clock)
    this.#cgroups = options.enforceLimits === false ? Cgroups.none() : Cgroups.onThisMachine(nodeId)
    this.#starts = new ContainerStarts(options.clock, owner, options.networks ?? machineNetwork, this.#cgroups)
  }

  async start(launch: ContainerLaunch, signal: AbortSignal): Promise<RunningContainer> {
    const { container, attempt, podIP } = launch
    const { uid = '' } = launch.pod.metadata
    if (this.#closed) throw new ContainerRefused('NodeStopping', 'this node is stopping')
    if (this.#pods.get(uid)?.has(container.name)) {
      throw new ContainerRefused('CreateContainerError', `container "${container.name}" already runs`)
    }
    const unsafe = unsafeName(launch.pod)
    if (unsafe !== undefined) throw new ContainerRefused('CreateContainerConfigError', unsafe)
    const isolation = await this.#detected()
    const launcher = this.#launcher(isolation)
    if (await mountMemoryVolumes(this.#folders, launch, signal)) this.#starts.mountsChanged()
    if (signal.aborted) throw abortReason(signal)
    const pod = identityOf(launch)
    const folder = containerLogFolder(this.#folders.logs, pod, container.name)
    const own = this.#folders.container(uid, container.name)
    const target = launch.target && this.#pods.get(uid)?.get(launch.target)?.record
    const { shell, ...beside } = this.#starts.shellFor(launch, isolation, target || undefined)
    let input: ContainerInput | undefined
    let prepared
    try {
      input = await makeInput(own, containerParts(container), isolation.mode === 'namespaces')
      prepared = await launcher.prepare(launch, rawPath(folder, attempt), input, shell.groups, signal)
    } catch (error) {
      shell.discard()
      if (input) closeAll([...input.opened, input.held])
      if (error instanceof ContainerRefused || signal.aborted) throw error
      throw new ContainerRefused('CreateContainerError', errorMessage(error), { cause: error })
    }
    mkdirSync(folder, { recursive: true })
    removeOldLogs(folder, attempt)
    const { script } = prepared
    const record = { ...prepared.record, sharesProcesses: beside.sharesProcesses }
    const startedAt = this.#options.clock.now()
    // Before the program runs: the next run of this one must find it, and learn how it ended.
    const note = async (process: ProcessIdentity) => {
      const written = { ...process, ...record, startedAt }
      await this.#records.start(recordOf(pod, podIP, readBootId()), container.name, written).catch((error: unknown) => {
        const message = `cannot record the process of "${container.name}": ${errorMessage(error)}`
        throw new ContainerRefused('CreateContainerError', message, { cause: error })
      })
    }
    let process: ContainerProcess | undefined
    try {
      const options = { ...this.#processOptions(uid, container.name, attempt), ...beside }
      process = await this.#starts.run(shell, isolation, script, note, options)
      const owned = { ...process.identity, ...record, startedAt }
      return { ...this.#own(pod, container.name, owned, podIP, process, input.held), warning: beside.warning }
    } catch (error) {
      await process?.stop(0)
      removeGroups(record.cgroups)
      this.#letGo(uid, container.name, record)
      closeAll([input.held])
      await this.#records.drop(uid, container.name).catch(() => {})
      throw error
    } finally {
      closeAll(input.opened)
    }
  }

  async stop(podUid: string, graceMs: number, container?: string): Promise<void> {
    const containers = [...(this.#pods.get(podUid)?.values() ?? [])]
    const chosen = container === undefined ? containers : containers.filter((owned) => owned.container === container)
    await Promise.all(
      chosen.map(async ({ process, exited }) => {
        await process.stop(graceMs)
        await exited
      }),
    )
  }

  async adopt(): Promise<readonly RunningContainer[]> {
    const bootId = readBootId()
    const adopted: RunningContainer[] = []
    const ended: Promise<unknown>[] = []
    for (const record of await this.#records.load()) {
      const thisBoot = record.bootId === bootId
      for (const [name, written] of Object.entries(record.containers)) {
        if (written.exit) continue
        const runs = thisBoot && isAlive(written)
        if (thisBoot && (await readExitFile(written.exitFile)).state === 'unstarted') {
          // Nobody is told that it is set up, so its program never runs: it is as if it had not been tried.
          signalGroup(written, 'SIGKILL')
          await this.#records.drop(record.uid, name)
          continue
        }
        const options = {
          ...this.#processOptions(record.uid, name, written.attempt),
          sharesProcesses: written.sharesProcesses,
        }
        const process = ContainerProcess.adopt({ ...written, thisBoot }, options)
        const owned = this.#own(record, name, written, record.podIP, process)
        if (runs) adopted.push(owned)
        else ended.push(owned.exited)
      }
    }
    await Promise.all(ended)
    this.#options.images.roots?.keepOnly(adopted)
    const leaders = new Set(adopted.map(({ pid }) => pid))
    endUnowned(this.nodeId, leaders, (uid) => this.#pods.has(uid), this.#options.log)
    await this.#cgroups.removeLeft(this.#groupsInUse(), this.#options.clock)
    await this.#starts.prepare(await this.#detected())
    return adopted
  }

  #groupsInUse(): ReadonlySet<string> {
    const owned = [...this.#pods.values()].flatMap((containers) => [...containers.values()])
    return new Set(owned.flatMap(({ record }) => record.cgroups))
  }

  unsettled(podUid: string): readonly EndedContainer[] {
    return this.#records.unsettled(podUid)
  }

  settle(podUid: string, containers: readonly string[]): Promise<void> {
    return this.#records.settle(podUid, (name) => containers.includes(name))
  }

  async writeVolume(podUid: string, volume: string, files: VolumeFiles, group?: number): Promise<boolean> {
    // Where containers cannot be given a group, a Pod that asks for one is refused; its files stay this user's
    // meanwhile.
    return publishFiles(this.#folders.volume(podUid, volume), files, process.getuid?.() === 0 ? group : undefined)
  }

  storageOf(pod: Pod, signal: AbortSignal): Promise<StorageUse | undefined> {
    const places = this.#folders.storage(identityOf({ pod }))
    return storageUse(pod, places, this.#options.clock, signal)
  }

  async removeVolumes(podUid: string): Promise<void> {
    if (await this.#folders.removeVolumes(podUid)) this.#starts.mountsChanged()
  }

  async exec(
    podUid: string,
    container: string,
    words: readonly string[],
    streams: ExecStreams,
    signal: AbortSignal,
  ): Promise<ExecResult> {
    const owned = this.#pods.get(podUid)?.get(container)
    if (!owned) throw new ContainerRefused('RunContainerError', `container "${container}" does not run`)
    return execInContainer(
      owned.record,
      { isolation: await this.#detected(), search: this.#search },
      words,
      streams,
      signal,
    )
  }

  /** Where to write what a container's own program is to read; `undefined` when it reads nothing. */
  input(podUid: string, container: string): Writable | undefined {
    const owned = this.#pods.get(podUid)?.get(container)
    return owned && openInput(owned.record)
  }

  /** Nothing more comes for a container that is to see the end of what it reads. */
  endInput(podUid: string, container: string): void {
    const owned = this.#pods.get(podUid)?.get(container)
    if (!owned) return
    tellContainer(owned.record, ['input-ends'])
    closeAll([owned.heldInput])
    owned.heldInput = undefined
  }

  resizeTerminal(podUid: string, container: string, columns: number, rows: number): void {
    const owned = this.#pods.get(podUid)?.get(container)
    if (owned) tellContainer(owned.record, ['size', Math.trunc(columns), Math.trunc(rows)])
  }

  /** How a container ends, if it runs now. */
  exitOf(podUid: string, container: string): Promise<ContainerExit> | undefined {
    return this.#pods.get(podUid)?.get(container)?.exited
  }

  async facts(): Promise<RuntimeFacts> {
    return runtimeFacts(await this.#detected(), this.#cgroups.support, this.#folders.node)
  }

  async forget(pod: PodIdentity): Promise<void> {
    if (this.#pods.has(pod.uid)) throw new Error(`Pod ${pod.uid} still has processes`)
    this.#volumeGroups.forget(pod.uid)
    await this.#records.remove(pod.uid)
    if (await this.#folders.remove(pod)) this.#starts.mountsChanged()
  }

  async retain(podUids: ReadonlySet<string>): Promise<void> {
    const isKnown = (uid: string) => podUids.has(uid) || this.#pods.has(uid)
    await this.#records.retain(isKnown)
    await this.#folders.removeUnknown(isKnown)
  }

  /** Lets go of everything without ending it: what happens, in short, when this program is killed. */
  close(): void {
    this.#closed = true
    for (const containers of this.#pods.values()) {
      for (const { collector } of containers.values()) collector.close()
    }
    this.#starts.close()
    this.#cgroups.close()
    this.#folders.unmountStopped((uid) => this.#pods.has(uid))
  }

  /** Tried out once, when it is first needed. */
  #detected(): Promise<Isolation> {
    const { isolation = 'detect', log } = this.#options
    if (typeof isolation !== 'string') return Promise.resolve(isolation)
    this.#isolation ??= detectIsolation(join(this.#folders.node, 'try'), isolation).then((detected) => {
      if (detected.mode === 'paths') log.info({ reason: detected.reason }, 'Pods run without namespaces')
      return detected
    })
    return this.#isolation
  }

  /** The files of its image are not needed any more. */
  #letGo(podUid: string, container: string, { imageId }: Pick<ContainerRecord, 'imageId'>): void {
    this.#options.images.roots?.letGo({ id: imageId }, { podUid, container })
  }

  #launcher(isolation: Isolation): ContainerLauncher {
    const { images, hostIP = '127.0.0.1', hostIP6, allowHostPath = false } = this.#options
    return new ContainerLauncher({
      images,
      folders: this.#folders,
      isolation,
      cgroups: this.#cgroups,
      volumeGroups: this.#volumeGroups,
      hostIP,
      hostIP6,
      hostPathAllowed: allowHostPath,
      covered: [realpathSync.native(this.#options.dataDir)],
      marks: ({ pod, container, attempt }) =>
        processMarks(this.nodeId, pod.metadata.uid ?? '', container.name, attempt),
    })
  }

  /** From here on the process is ours: its output collected, and its end noted when it is gone. */
  #own(
    pod: PodIdentity,
    name: string,
    record: ContainerRecord,
    podIP: string,
    process: ContainerProcess,
    heldInput?: number,
  ) {
    const { uid } = pod
    const { attempt, cards, pid, startedAt } = record
    const collector = this.#collector(pod, name, attempt)
    const about = { podUid: uid, container: name, attempt, podIP, cards, pid, startedAt }
    const owned: OwnedContainer = {
      ...about,
      process,
      collector,
      record,
      heldInput,
      exited: process.exited.then((exit) => this.#disown(owned, exit)),
    }
    const containers = this.#pods.get(uid) ?? new Map<string, OwnedContainer>()
    this.#pods.set(uid, containers.set(name, owned))
    return owned
  }

  async #disown(owned: OwnedContainer, exit: ContainerExit): Promise<ContainerExit> {
    const { podUid, container, record } = owned
    await collectEnd(owned.collector, this.#options.clock)
    closeAll([owned.heldInput])
    owned.heldInput = undefined
    const told = await withLastWords(exit, record, owned.collector.path)
    if (this.#closed) return told
    removeGroups(record.cgroups)
    this.#letGo(podUid, container, record)
    // Whoever is told may be lost before it is noted in the cluster.
    await this.#records.end(podUid, container, told).catch((error: unknown) => {
      this.#options.log.warn({ err: error, pod: podUid, container }, 'the end of a container could not be recorded')
    })
    const containers = this.#pods.get(podUid)
    containers?.delete(container)
    if (containers?.size === 0) this.#pods.delete(podUid)
    return told
  }

  #collector(pod: PodIdentity, container: string, attempt: number): LogCollector {
    const { clock, log, logHub: hub, logLimits } = this.#options
    const folder = containerLogFolder(this.#folders.logs, pod, container)
    const turns = this.#logTurns
    return new LogCollector({ folder, attempt, clock, log, hub, turns, ...(logLimits && { limits: logLimits }) })
  }

  #processOptions(uid: string, container: string, attempt: number) {
    const { clock, log } = this.#options
    const marks = containerMarks(uid, container, attempt)
    return { clock, log, marks, shellMark: `${shellMark}=${this.nodeId}`, search: this.#search }
  }
}

function identityOf({ pod }: Pick<ContainerLaunch, 'pod'>): PodIdentity {
  const { uid = '', namespace = '', name } = pod.metadata
  return { uid, namespace, name }
}
