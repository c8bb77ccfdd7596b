import { randomUUID } from 'node:crypto'
import { execFile } from 'node:child_process'
import { closeSync, constants, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { type Clock, abortReason } from '../foundation/clock.ts'
import { errorMessage } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import { execInContainer } from './container-exec.ts'
import { ContainerLauncher, openStdin } from './container-launcher.ts'
import { ContainerProcess } from './container-process.ts'
import { ContainerStarts } from './container-starts.ts'
import { collectEnd, withLastWords } from './container-end.ts'
import type { ImageStore } from './image-store.ts'
import { Cgroups, removeGroups } from './isolation/cgroups.ts'
import { type Isolation, type IsolationChoice, detectIsolation } from './isolation/detect-isolation.ts'
import { LogCollector, type LogLimits } from './log-collector.ts'
import { containerLogFolder, rawPath, removeOldLogs } from './log-files.ts'
import type { LogHub } from './log-hub.ts'
import { LogTurns } from './log-turns.ts'
import { PodFolders } from './pod-folders.ts'
import { containerParts } from './pod-parts.ts'
import { type ContainerRecord, type PodRecord, PodRecords } from './pod-records.ts'
import {
  type ContainerExit,
  type ContainerLaunch,
  ContainerRefused,
  type ExecResult,
  type ExecStreams,
  type PodIdentity,
  type PodRuntime,
  type RunningContainer,
  type RuntimeFacts,
} from './pod-runtime.ts'
import { environmentEntry, isAlive, processesMarkedWithAny, readBootId, signalProcess } from './process-identity.ts'
import { ProcessSearch } from './process-search.ts'
import { unsafeName } from './unsupported-pod.ts'
import { publishFiles } from './volumes/published-folder.ts'
import type { VolumeFiles } from './volumes/volume-files.ts'

export interface ProcessRuntimeOptions {
  readonly dataDir: string
  readonly images: ImageStore
  readonly clock: Clock
  readonly log: Logger
  readonly logHub: LogHub
  readonly hostIP?: string
  readonly logLimits?: LogLimits
  /** Whether containers get namespaces of their own: where the machine permits it, unless something else is said. */
  readonly isolation?: IsolationChoice | Isolation
  /** Whether limits are enforced by cgroups where the machine permits it; true unless said otherwise. */
  readonly enforceLimits?: boolean
  /** Whether Pods may mount the machine's own folders; false unless said otherwise. */
  readonly allowHostPath?: boolean
}

/** The marks every process carries in its environment: which node's it is, which Pod's, and which start of which container's. */
const nodeMark = 'SLUICE_NODE_ID'
const podMark = 'SLUICE_POD_UID'
const containerMark = 'SLUICE_CONTAINER'
/** The mark of processes that hold a container's namespaces, or wait for a container: they were there before it. */
const shellMark = 'SLUICE_SHELL_OF'

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
  readonly #pods = new Map<string, { readonly record: PodRecord; readonly containers: Map<string, OwnedContainer> }>()
  readonly #folders: PodFolders
  readonly #cgroups: Cgroups
  readonly #search = new ProcessSearch()
  readonly #logTurns = new LogTurns()
  readonly #starts: ContainerStarts
  #isolation: Promise<Isolation> | undefined
  #closed = false

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options
    let nodeId = ''
    this.#folders = new PodFolders(options.dataDir, (folder) => (nodeId = readOrMakeId(join(folder, 'id'))))
    this.nodeId = nodeId
    this.#starts = new ContainerStarts(options.clock, { owner: this.#folders.node, env: { [shellMark]: nodeId } })
    this.#records = new PodRecords(join(this.#folders.node, 'pods'))
    this.#cgroups = options.enforceLimits === false ? Cgroups.none() : Cgroups.onThisMachine(nodeId)
  }

  async start(launch: ContainerLaunch, signal: AbortSignal): Promise<RunningContainer> {
    const uid = launch.pod.metadata.uid ?? ''
    const { container, attempt, podIP } = launch
    if (this.#closed) throw new ContainerRefused('NodeStopping', 'this node is stopping')
    if (this.#pods.get(uid)?.containers.has(container.name)) {
      throw new ContainerRefused('CreateContainerError', `container "${container.name}" already runs`)
    }
    const unsafe = unsafeName(launch.pod)
    if (unsafe !== undefined) throw new ContainerRefused('CreateContainerConfigError', unsafe)
    const launcher = this.#launcher(await this.#detected())
    const input = await this.#makeInput(launch)
    if (signal.aborted) throw abortReason(signal)
    const record = this.#pods.get(uid)?.record ?? this.#newRecord(launch)
    const folder = containerLogFolder(this.#folders.logs, record, container.name)
    const output = rawPath(folder, attempt)
    let prepared
    try {
      prepared = launcher.prepare(launch, output, input)
    } catch (error) {
      closeAll([input?.descriptor, input?.held])
      if (error instanceof ContainerRefused) throw error
      throw new ContainerRefused('CreateContainerError', errorMessage(error), { cause: error })
    }
    mkdirSync(folder, { recursive: true })
    removeOldLogs(folder, attempt)
    let process: ContainerProcess
    try {
      process = await this.#starts.run(prepared.command, output, this.#processOptions(uid, container.name, attempt))
    } catch (error) {
      removeGroups(prepared.record.cgroups)
      closeAll([input?.held])
      throw error
    } finally {
      closeAll([input?.descriptor])
      prepared.release()
    }
    const written = { ...process.identity, ...prepared.record, startedAt: this.#options.clock.now() }
    try {
      return this.#own(record, container.name, written, podIP, process, input?.held)
    } catch (error) {
      // Without a record the next run could not find it.
      await process.stop(0)
      const message = `cannot record the process of "${container.name}": ${errorMessage(error)}`
      throw new ContainerRefused('CreateContainerError', message, { cause: error })
    }
  }

  async stop(podUid: string, graceMs: number, container?: string): Promise<void> {
    const containers = [...(this.#pods.get(podUid)?.containers.values() ?? [])]
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
    const ended: Promise<void>[] = []
    for (const record of this.#records.all()) {
      if (this.#pods.has(record.uid)) continue
      for (const [name, written] of Object.entries(record.containers)) {
        if (record.bootId !== bootId || !isAlive(written)) {
          ended.push(this.#collectRest(record, name, written))
          continue
        }
        const process = ContainerProcess.adopt(
          written,
          written.exitFile,
          this.#processOptions(record.uid, name, written.attempt),
        )
        adopted.push(this.#own({ ...record, containers: {} }, name, written, record.podIP, process))
      }
      if (!this.#pods.has(record.uid)) this.#records.remove(record.uid)
    }
    await Promise.all(ended)
    this.#endUnrecorded(new Set(adopted.map(({ pid }) => pid)))
    const isolation = await this.#detected()
    if (isolation.mode === 'namespaces') this.#starts.prepare(isolation.tools)
    return adopted
  }

  async writeVolume(podUid: string, volume: string, files: VolumeFiles): Promise<boolean> {
    return publishFiles(this.#folders.volume(podUid, volume), files)
  }

  async exec(
    podUid: string,
    container: string,
    words: readonly string[],
    streams: ExecStreams,
    signal: AbortSignal,
  ): Promise<ExecResult> {
    const owned = this.#pods.get(podUid)?.containers.get(container)
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
    const owned = this.#pods.get(podUid)?.containers.get(container)
    if (!owned || owned.record.stdinFile === '') return undefined
    const descriptor = openSync(owned.record.stdinFile, constants.O_WRONLY | constants.O_NONBLOCK)
    const socket = new Socket({ fd: descriptor, readable: false, writable: true })
    socket.once('close', () => {
      closeAll([owned.heldInput])
      owned.heldInput = undefined
    })
    return socket
  }

  /** How a container ends, if it runs now. */
  exitOf(podUid: string, container: string): Promise<ContainerExit> | undefined {
    return this.#pods.get(podUid)?.containers.get(container)?.exited
  }

  async facts(): Promise<RuntimeFacts> {
    const isolation = await this.#detected()
    const { support } = this.#cgroups
    return {
      namespaces: isolation.mode === 'namespaces',
      isolationMessage:
        isolation.mode === 'namespaces'
          ? 'Containers have mount and PID namespaces of their own.'
          : `Mount paths are replaced in command, args and env: ${isolation.reason}.`,
      limitsEnforced: support.memory && support.cpu,
      limitsMessage: support.message,
      folder: this.#folders.node,
    }
  }

  async forget(pod: PodIdentity): Promise<void> {
    if (this.#pods.has(pod.uid)) throw new Error(`Pod ${pod.uid} still has processes`)
    await this.#folders.remove(pod)
  }

  async retain(podUids: ReadonlySet<string>): Promise<void> {
    await this.#folders.removeUnknown((uid) => podUids.has(uid) || this.#pods.has(uid))
  }

  /** Lets go of everything without ending it: what happens, in short, when this program is killed. */
  close(): void {
    this.#closed = true
    for (const { containers } of this.#pods.values()) {
      for (const { collector } of containers.values()) collector.close()
    }
    this.#starts.close()
    this.#cgroups.close()
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

  #launcher(isolation: Isolation): ContainerLauncher {
    const { images, hostIP = '127.0.0.1', allowHostPath = false } = this.#options
    return new ContainerLauncher({
      images,
      folders: this.#folders,
      isolation,
      cgroups: this.#cgroups,
      hostIP,
      hostPathAllowed: allowHostPath,
      marks: ({ pod, container, attempt }) => ({
        [nodeMark]: this.nodeId,
        [podMark]: pod.metadata.uid ?? '',
        [containerMark]: `${container.name}.${attempt}`,
      }),
    })
  }

  async #makeInput({ pod, container }: ContainerLaunch) {
    const { stdin, stdinOnce } = containerParts(container)
    if (!stdin) return undefined
    const path = join(this.#folders.container(pod.metadata.uid ?? '', container.name), 'stdin')
    rmSync(path, { force: true })
    await promisify(execFile)('mkfifo', ['-m', '600', path])
    return { path, ...openStdin(path, stdinOnce) }
  }

  /** From here on the process is ours: recorded, its output collected, and forgotten when it is gone. */
  #own(
    record: PodRecord,
    name: string,
    written: ContainerRecord,
    podIP: string,
    process: ContainerProcess,
    heldInput?: number,
  ) {
    const { uid } = record
    const pod = this.#pods.get(uid) ?? { record, containers: new Map<string, OwnedContainer>() }
    this.#pods.set(uid, pod)
    pod.record.containers[name] = written
    this.#records.write(pod.record)
    const collector = this.#collector(record, name, written.attempt)
    const owned: OwnedContainer = {
      podUid: uid,
      container: name,
      attempt: written.attempt,
      podIP,
      cards: written.cards,
      pid: written.pid,
      startedAt: written.startedAt,
      process,
      collector,
      record: written,
      heldInput,
      exited: process.exited.then((exit) => this.#disown(owned, exit)),
    }
    pod.containers.set(name, owned)
    return owned
  }

  async #disown(owned: OwnedContainer, exit: ContainerExit): Promise<ContainerExit> {
    await collectEnd(owned.collector, this.#options.clock)
    closeAll([owned.heldInput])
    owned.heldInput = undefined
    const told = await withLastWords(exit, owned.record, owned.collector.path)
    const pod = this.#pods.get(owned.podUid)
    if (this.#closed || !pod) return told
    removeGroups(owned.record.cgroups)
    pod.containers.delete(owned.container)
    delete pod.record.containers[owned.container]
    if (pod.containers.size > 0) this.#records.write(pod.record)
    else {
      this.#pods.delete(owned.podUid)
      this.#records.remove(owned.podUid)
    }
    return told
  }

  /** The last words of a container that ended while nobody looked. */
  async #collectRest(record: PodRecord, container: string, { attempt, cgroups }: ContainerRecord): Promise<void> {
    removeGroups(cgroups)
    await collectEnd(this.#collector(record, container, attempt), this.#options.clock)
  }

  #collector(pod: PodIdentity, container: string, attempt: number): LogCollector {
    const { clock, log, logHub: hub, logLimits } = this.#options
    const folder = containerLogFolder(this.#folders.logs, pod, container)
    const turns = this.#logTurns
    return new LogCollector({ folder, attempt, clock, log, hub, turns, ...(logLimits && { limits: logLimits }) })
  }

  /** Started right before we were killed, or left behind by a leader that died alone: ours, but no Pod can own it. */
  #endUnrecorded(leaders: ReadonlySet<number>): void {
    const marks = [nodeMark, shellMark].map((mark) => [`${mark}=${this.nodeId}`])
    const [members = [], shells = []] = processesMarkedWithAny(marks)
    for (const found of [...members, ...shells.filter(({ group }) => !leaders.has(group))]) {
      // By Pod, not by group: a member of an adopted Pod may have made a group of its own.
      const uid = environmentEntry(found.pid, podMark)
      if (uid !== undefined && this.#pods.has(uid)) continue
      this.#options.log.warn({ pid: found.pid, pod: uid }, 'ending a process no Pod owns')
      signalProcess(found, 'SIGKILL')
    }
  }

  #newRecord({ pod, podIP }: ContainerLaunch): PodRecord {
    const { uid = '', namespace = '', name } = pod.metadata
    return { uid, namespace, name, podIP, bootId: readBootId(), containers: {} }
  }

  #processOptions(uid: string, container: string, attempt: number) {
    const marks = [`${podMark}=${uid}`, `${containerMark}=${container}.${attempt}`]
    return { clock: this.#options.clock, log: this.#options.log, marks, search: this.#search }
  }
}

function readOrMakeId(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    const id = randomUUID()
    writeFileSync(path, `${id}\n`)
    return id
  }
}

function closeAll(descriptors: readonly (number | undefined)[]): void {
  for (const descriptor of descriptors) {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
