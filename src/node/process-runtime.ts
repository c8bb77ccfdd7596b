import { randomUUID } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, abortReason } from '../foundation/clock.ts'
import { errorMessage } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import { ContainerProcess } from './container-process.ts'
import type { ImageStore } from './image-store.ts'
import { planLaunch } from './launch-plan.ts'
import { LogCollector, type LogLimits } from './log-collector.ts'
import {
  containerLogFolder,
  loggedAttempts,
  logPath,
  podLogFolderName,
  podLogsFolder,
  rawPath,
  rotatedPath,
  uidOfLogFolder,
} from './log-files.ts'
import type { LogHub } from './log-hub.ts'
import { type ContainerRecord, type PodRecord, PodRecords } from './pod-records.ts'
import {
  type ContainerLaunch,
  ContainerRefused,
  type PodIdentity,
  type PodRuntime,
  type RunningContainer,
} from './pod-runtime.ts'
import { environmentEntry, isAlive, processesMarked, readBootId, signalProcess } from './process-identity.ts'
import { unsafeName } from './unsupported-pod.ts'
import { resolveMounts } from './volume-mounts.ts'

export interface ProcessRuntimeOptions {
  readonly dataDir: string
  readonly images: ImageStore
  readonly clock: Clock
  readonly log: Logger
  readonly logHub: LogHub
  readonly hostIP?: string
  readonly logLimits?: LogLimits
}

/** The marks every process carries in its environment: which node's it is, and which Pod's. */
const nodeMark = 'SLUICE_NODE_ID'
const podMark = 'SLUICE_POD_UID'

/** What of this program's own environment its Pods get; nothing else leaks into them. */
const inheritedVariables = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'LD_LIBRARY_PATH', 'SSL_CERT_FILE', 'SSL_CERT_DIR']

interface OwnedContainer extends RunningContainer {
  readonly process: ContainerProcess
  readonly collector: LogCollector
}

/** Containers as processes of this machine, each with a process group of its own. */
export class ProcessRuntime implements PodRuntime {
  /** Tells this node's processes from those of another one on the same machine. */
  readonly nodeId: string
  readonly #options: ProcessRuntimeOptions
  readonly #records: PodRecords
  readonly #pods = new Map<string, { readonly record: PodRecord; readonly containers: Map<string, OwnedContainer> }>()
  readonly #folders: { readonly node: string; readonly logs: string; readonly volumes: string }
  #closed = false

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options
    const { dataDir } = options
    this.#folders = { node: join(dataDir, 'node'), logs: podLogsFolder(dataDir), volumes: join(dataDir, 'volumes') }
    for (const folder of Object.values(this.#folders)) mkdirSync(folder, { recursive: true })
    this.#records = new PodRecords(join(this.#folders.node, 'pods'))
    this.nodeId = readOrMakeId(join(this.#folders.node, 'id'))
  }

  async start(launch: ContainerLaunch, signal: AbortSignal): Promise<RunningContainer> {
    const uid = launch.pod.metadata.uid ?? ''
    const { container, attempt, podIP, cards } = launch
    if (this.#closed) throw new ContainerRefused('NodeStopping', 'this node is stopping')
    if (signal.aborted) throw abortReason(signal)
    if (this.#pods.get(uid)?.containers.has(container.name)) {
      throw new ContainerRefused('CreateContainerError', `container "${container.name}" already runs`)
    }
    const unsafe = unsafeName(launch.pod)
    if (unsafe !== undefined) throw new ContainerRefused('CreateContainerConfigError', unsafe)
    const plan = this.#plan(launch)
    const record = this.#pods.get(uid)?.record ?? this.#newRecord(launch)
    const folder = containerLogFolder(this.#folders.logs, record, container.name)
    mkdirSync(folder, { recursive: true })
    removeOldLogs(folder, attempt)
    const outputFd = openSync(rawPath(folder, attempt), 'a')
    let process: ContainerProcess
    try {
      process = await ContainerProcess.spawn(plan, outputFd, this.#processOptions(uid))
    } finally {
      closeSync(outputFd)
    }
    const startedAt = this.#options.clock.now()
    const written = { ...process.identity, attempt, startedAt, cards: [...cards] }
    try {
      return this.#own(record, container.name, written, podIP, process)
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
    await Promise.all(chosen.map((owned) => owned.process.stop(graceMs)))
  }

  async adopt(): Promise<readonly RunningContainer[]> {
    const bootId = readBootId()
    const adopted: RunningContainer[] = []
    for (const record of this.#records.all()) {
      if (this.#pods.has(record.uid)) continue
      for (const [name, written] of Object.entries(record.containers)) {
        if (record.bootId !== bootId || !isAlive(written)) {
          this.#collectRest(record, name, written.attempt)
          continue
        }
        const process = ContainerProcess.adopt(written, this.#processOptions(record.uid))
        adopted.push(this.#own({ ...record, containers: {} }, name, written, record.podIP, process))
      }
      if (!this.#pods.has(record.uid)) this.#records.remove(record.uid)
    }
    this.#endUnrecorded()
    return adopted
  }

  async forget(pod: PodIdentity): Promise<void> {
    if (this.#pods.has(pod.uid)) throw new Error(`Pod ${pod.uid} still has processes`)
    await rm(join(this.#folders.logs, podLogFolderName(pod)), { recursive: true, force: true })
    await rm(join(this.#podFolders(), pod.uid), { recursive: true, force: true })
  }

  async retain(podUids: ReadonlySet<string>): Promise<void> {
    const unknown = (uid: string) => !podUids.has(uid) && !this.#pods.has(uid)
    const logs = namesIn(this.#folders.logs).filter((name) => unknown(uidOfLogFolder(name)))
    const pods = namesIn(this.#podFolders()).filter(unknown)
    const folders = [
      ...logs.map((name) => join(this.#folders.logs, name)),
      ...pods.map((name) => join(this.#podFolders(), name)),
    ]
    for (const folder of folders) await rm(folder, { recursive: true, force: true })
  }

  /** Lets go of everything without ending it: what happens, in short, when this program is killed. */
  close(): void {
    this.#closed = true
    for (const { containers } of this.#pods.values()) {
      for (const { collector } of containers.values()) collector.close()
    }
  }

  #plan(launch: ContainerLaunch) {
    const uid = launch.pod.metadata.uid ?? ''
    const podFolder = join(this.#podFolders(), uid)
    const folders = {
      claim: (name: string) => join(this.#folders.volumes, name),
      scratch: (volume: string) => join(podFolder, 'volumes', volume),
    }
    const home = join(podFolder, 'home')
    mkdirSync(home, { recursive: true })
    return planLaunch(launch, {
      image: this.#options.images.lookup(launch.container.image ?? ''),
      mounts: resolveMounts(launch.pod, launch.container, folders),
      podFolder: home,
      hostIP: this.#options.hostIP ?? '127.0.0.1',
      machineEnv: machineEnvironment(),
      marks: { [nodeMark]: this.nodeId, [podMark]: uid },
    })
  }

  /** From here on the process is ours: recorded, its output collected, and forgotten when it is gone. */
  #own(record: PodRecord, name: string, written: ContainerRecord, podIP: string, process: ContainerProcess) {
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
      exited: process.exited.then((exit) => {
        this.#disown(owned)
        return exit
      }),
    }
    pod.containers.set(name, owned)
    return owned
  }

  #disown(owned: OwnedContainer): void {
    owned.collector.finish()
    const pod = this.#pods.get(owned.podUid)
    if (this.#closed || !pod) return
    pod.containers.delete(owned.container)
    delete pod.record.containers[owned.container]
    if (pod.containers.size > 0) {
      this.#records.write(pod.record)
      return
    }
    this.#pods.delete(owned.podUid)
    this.#records.remove(owned.podUid)
  }

  /** The last words of a container that ended while nobody looked. */
  #collectRest(record: PodRecord, container: string, attempt: number): void {
    this.#collector(record, container, attempt).finish()
  }

  #collector(pod: PodIdentity, container: string, attempt: number): LogCollector {
    const { clock, log, logHub: hub, logLimits } = this.#options
    const folder = containerLogFolder(this.#folders.logs, pod, container)
    return new LogCollector({ folder, attempt, clock, log, hub, ...(logLimits && { limits: logLimits }) })
  }

  /** Started right before we were killed, or left behind by a leader that died alone: ours, but no Pod can own it. */
  #endUnrecorded(): void {
    for (const found of processesMarked(`${nodeMark}=${this.nodeId}`)) {
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

  #processOptions(uid: string) {
    return { clock: this.#options.clock, log: this.#options.log, mark: `${podMark}=${uid}` }
  }

  #podFolders(): string {
    return join(this.#folders.node, 'scratch')
  }
}

function machineEnvironment(): Record<string, string> {
  return Object.fromEntries(
    inheritedVariables.flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

/** The log of the attempt before stays, for `kubectl logs --previous`. */
function removeOldLogs(folder: string, attempt: number): void {
  for (const old of loggedAttempts(folder)) {
    if (old >= attempt - 1 && old !== attempt) continue
    rmSync(logPath(folder, old), { force: true })
    rmSync(rotatedPath(logPath(folder, old)), { force: true })
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

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
