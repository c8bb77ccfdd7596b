import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import type { Pod } from '../resources/pod.ts'
import { adoptFormerRun } from './containers/adopt-former-run.ts'
import { execInContainer } from './containers/container-exec.ts'
import { closeAll, openInput, tellContainer } from './containers/container-input.ts'
import { ContainerLauncher } from './containers/container-launcher.ts'
import { ContainerPreparer } from './containers/container-preparer.ts'
import type { ProcessOptionsFor } from './containers/container-process.ts'
import { ContainerShells, type NextNetwork, machineNetwork } from './containers/container-shells.ts'
import { OwnedContainers } from './containers/owned-containers.ts'
import type { ImageStore } from './images/image-store.ts'
import { Cgroups } from './isolation/cgroups.ts'
import { type Isolation, type IsolationChoice, detectIsolation } from './isolation/detect-isolation.ts'
import type { LogLimits } from './logs/log-collector.ts'
import type { LogHub } from './logs/log-hub.ts'
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
  podIdentity,
} from './pod-runtime.ts'
import { PodFolders } from './pods/pod-folders.ts'
import { PodRecords } from './pods/pod-records.ts'
import { unsafeName } from './pods/unsupported-pod.ts'
import { containerMarks, processMarks, shellMark } from './processes/process-marks.ts'
import { ProcessSearch } from './processes/process-search.ts'
import { nodeIdOf } from './registration/node-id.ts'
import { runtimeFacts } from './registration/runtime-facts.ts'
import { storageUse } from './storage/measure-storage.ts'
import { useOfProcesses } from './usage/process-use.ts'
import type { ContainerUse } from './usage/usage-meter.ts'
import type { StorageUse } from './storage/storage-limits.ts'
import { MemoryMounts } from './volumes/memory-mounts.ts'
import { publishFiles } from './volumes/published-folder.ts'
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
  /** Tells the network namespace of the next Pod, in which a container can be prepared. */
  readonly networks?: NextNetwork
  readonly logLimits?: LogLimits
  /** Whether containers get their own namespaces; by default, if the machine permits it. */
  readonly isolation?: IsolationChoice | Isolation
  /** Whether limits are enforced by cgroups, if the machine permits it; true by default. */
  readonly enforceLimits?: boolean
  /** Whether Pods may mount folders of the machine; false by default. */
  readonly allowHostPath?: boolean
}

/**
 * Runs containers as processes of this machine, each with its own process group and, if permitted, its own namespaces.
 * Starting is done by `ContainerLauncher`, running containers are in `OwnedContainers`, and `adoptFormerRun` takes over
 * what a former run of the program left.
 */
export class ProcessRuntime implements PodRuntime {
  /** Distinguishes this node's processes from those of other nodes on the same machine. */
  readonly nodeId: string
  readonly #options: ProcessRuntimeOptions
  readonly #records: PodRecords
  readonly #owned: OwnedContainers
  readonly #folders: PodFolders
  readonly #cgroups: Cgroups
  readonly #volumeGroups: VolumeGroups
  readonly #search = new ProcessSearch()
  readonly #shells: ContainerShells
  readonly #launcher: ContainerLauncher
  readonly #processOptions: ProcessOptionsFor
  #isolation: Promise<Isolation> | undefined
  #closed = false

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options
    const { clock, log, images } = options
    let nodeId = ''
    this.#folders = new PodFolders(options.dataDir, (folder) => (nodeId = nodeIdOf(folder)), new MemoryMounts(clock))
    this.nodeId = nodeId
    this.#records = new PodRecords(join(this.#folders.node, 'pods'))
    this.#volumeGroups = new VolumeGroups(clock)
    this.#cgroups = options.enforceLimits === false ? Cgroups.none() : Cgroups.onThisMachine(nodeId)
    const owner = { owner: this.#folders.node, env: { [shellMark]: nodeId } }
    this.#shells = new ContainerShells(clock, owner, options.networks ?? machineNetwork, this.#cgroups)
    this.#processOptions = (uid, container, attempt) => ({
      clock,
      log,
      marks: containerMarks(uid, container, attempt),
      shellMark: `${shellMark}=${nodeId}`,
      search: this.#search,
    })
    this.#owned = new OwnedContainers({ ...options, logs: this.#folders.logs, records: this.#records })
    this.#launcher = new ContainerLauncher({
      clock,
      images,
      folders: this.#folders,
      records: this.#records,
      shells: this.#shells,
      owned: this.#owned,
      processOptions: this.#processOptions,
      preparer: (isolation) => this.#preparer(isolation),
    })
  }

  async start(launch: ContainerLaunch, signal: AbortSignal): Promise<RunningContainer> {
    const { name } = launch.container
    if (this.#closed) throw new ContainerRefused('NodeStopping', 'this node is stopping')
    if (this.#owned.get(podIdentity(launch.pod).uid, name)) {
      throw new ContainerRefused('CreateContainerError', `container "${name}" already runs`)
    }
    const unsafe = unsafeName(launch.pod)
    if (unsafe !== undefined) throw new ContainerRefused('CreateContainerConfigError', unsafe)
    return this.#launcher.launch(launch, await this.#detected(), signal)
  }

  async stop(podUid: string, graceMs: number, container?: string): Promise<void> {
    const containers = this.#owned.ofPod(podUid)
    const chosen = container === undefined ? containers : containers.filter((owned) => owned.container === container)
    await Promise.all(
      chosen.map(async ({ process, exited }) => {
        await process.stop(graceMs)
        await exited
      }),
    )
  }

  async adopt(): Promise<readonly RunningContainer[]> {
    const adopted = await adoptFormerRun({
      ...this.#options,
      records: this.#records,
      owned: this.#owned,
      processOptions: this.#processOptions,
      cgroups: this.#cgroups,
      nodeId: this.nodeId,
    })
    await this.#shells.prepare(await this.#detected())
    return adopted
  }

  unsettled(podUid: string): readonly EndedContainer[] {
    return this.#records.unsettled(podUid)
  }

  settle(podUid: string, containers: readonly string[]): Promise<void> {
    return this.#records.settle(podUid, (name) => containers.includes(name))
  }

  async writeVolume(podUid: string, volume: string, files: VolumeFiles, group?: number): Promise<boolean> {
    // Only root can give files to a group; a Pod that asks for one is refused elsewhere if containers cannot have it.
    return publishFiles(this.#folders.volume(podUid, volume), files, process.getuid?.() === 0 ? group : undefined)
  }

  storageOf(pod: Pod, signal: AbortSignal): Promise<StorageUse | undefined> {
    const places = this.#folders.storage(podIdentity(pod))
    return storageUse(pod, places, this.#options.clock, signal)
  }

  async removeVolumes(podUid: string): Promise<void> {
    if (await this.#folders.removeVolumes(podUid)) this.#shells.mountsChanged()
  }

  async exec(
    podUid: string,
    container: string,
    words: readonly string[],
    streams: ExecStreams,
    signal: AbortSignal,
  ): Promise<ExecResult> {
    const owned = this.#owned.get(podUid, container)
    if (!owned) throw new ContainerRefused('RunContainerError', `container "${container}" does not run`)
    return execInContainer(
      owned.record,
      { isolation: await this.#detected(), search: this.#search },
      words,
      streams,
      signal,
    )
  }

  /** Opens the standard input of a container's program; `undefined` when it reads none. */
  input(podUid: string, container: string): Writable | undefined {
    const owned = this.#owned.get(podUid, container)
    return owned && openInput(owned.record)
  }

  /** Lets a container with `stdinOnce` see the end of its input. */
  endInput(podUid: string, container: string): void {
    const owned = this.#owned.get(podUid, container)
    if (!owned) return
    tellContainer(owned.record, ['input-ends'])
    closeAll([owned.heldInput])
    owned.heldInput = undefined
  }

  resizeTerminal(podUid: string, container: string, columns: number, rows: number): void {
    const owned = this.#owned.get(podUid, container)
    if (owned) tellContainer(owned.record, ['size', Math.trunc(columns), Math.trunc(rows)])
  }

  /** Resolves with a running container's exit; `undefined` if it does not run. */
  exitOf(podUid: string, container: string): Promise<ContainerExit> | undefined {
    return this.#owned.get(podUid, container)?.exited
  }

  /** What every running container has used so far. */
  usage(): Promise<readonly ContainerUse[]> {
    return Promise.all(
      this.#owned.all.map(async ({ podUid, container, attempt, startedAt }) => {
        const processes = await this.#search.find(containerMarks(podUid, container, attempt))
        return { podUid, container, startedAt, ...useOfProcesses(processes.map(({ pid }) => pid)) }
      }),
    )
  }

  async facts(): Promise<RuntimeFacts> {
    return runtimeFacts(await this.#detected(), this.#cgroups.support, this.#folders.node)
  }

  /** Lets all containers have no more than this together, as far as the machine can hold them to it. */
  limitTogether(share: { readonly memoryBytes?: number | undefined; readonly cpus?: number | undefined }): void {
    const problem = this.#cgroups.limitTogether(share)
    if (problem !== undefined) this.#options.log.warn({ share, problem }, 'the limit of all Pods cannot be set yet')
  }

  async forget(pod: PodIdentity): Promise<void> {
    if (this.#owned.hasPod(pod.uid)) throw new Error(`Pod ${pod.uid} still has processes`)
    this.#volumeGroups.forget(pod.uid)
    await this.#records.remove(pod.uid)
    if (await this.#folders.remove(pod)) this.#shells.mountsChanged()
  }

  async retain(podUids: ReadonlySet<string>): Promise<void> {
    const isKnown = (uid: string) => podUids.has(uid) || this.#owned.hasPod(uid)
    await this.#records.retain(isKnown)
    await this.#folders.removeUnknown(isKnown)
  }

  /** Stops without ending any container, much as if this program were killed. */
  close(): void {
    this.#closed = true
    this.#owned.close()
    this.#shells.close()
    this.#cgroups.close()
    this.#folders.unmountStopped((uid) => this.#owned.hasPod(uid))
  }

  /** Detected once, when first needed. */
  #detected(): Promise<Isolation> {
    const { isolation = 'detect', log } = this.#options
    if (typeof isolation !== 'string') return Promise.resolve(isolation)
    this.#isolation ??= detectIsolation(join(this.#folders.node, 'try'), isolation).then((detected) => {
      if (detected.mode === 'paths') log.info({ reason: detected.reason }, 'Pods run without namespaces')
      return detected
    })
    return this.#isolation
  }

  #preparer(isolation: Isolation): ContainerPreparer {
    const { images, hostIP = '127.0.0.1', hostIP6, allowHostPath = false } = this.#options
    return new ContainerPreparer({
      images,
      folders: this.#folders,
      isolation,
      cgroups: this.#cgroups,
      volumeGroups: this.#volumeGroups,
      hostIP,
      hostIP6,
      hostPathAllowed: allowHostPath,
      covered: [realpathSync.native(this.#options.dataDir)],
      marks: ({ pod, container, attempt }) => processMarks(this.nodeId, podIdentity(pod).uid, container.name, attempt),
    })
  }
}
