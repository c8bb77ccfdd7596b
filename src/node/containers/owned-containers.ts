import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { ImageStore } from '../images/image-store.ts'
import { removeGroups } from '../isolation/cgroups.ts'
import { LogCollector, type LogLimits } from '../logs/log-collector.ts'
import { containerLogFolder } from '../logs/log-files.ts'
import type { LogHub } from '../logs/log-hub.ts'
import { LogTurns } from '../logs/log-turns.ts'
import type { ContainerExit, PodIdentity, RunningContainer } from '../pod-runtime.ts'
import type { ContainerRecord, PodRecords } from '../pods/pod-records.ts'
import { collectEnd, withLastWords } from './container-end.ts'
import { closeAll } from './container-input.ts'
import type { ContainerProcess } from './container-process.ts'

export interface OwnedContainersOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly logHub: LogHub
  readonly logLimits?: LogLimits | undefined
  /** The folder with the logs of all Pods. */
  readonly logs: string
  readonly records: Pick<PodRecords, 'end'>
  readonly images: Pick<ImageStore, 'roots'>
}

export interface OwnedContainer extends RunningContainer {
  readonly process: ContainerProcess
  readonly collector: LogCollector
  readonly record: ContainerRecord
  /** Keeps the container's input from ending before somebody attached has left. */
  heldInput?: number | undefined
}

/** A container's process, and what belongs to it. */
export interface NewlyOwned {
  readonly pod: PodIdentity
  readonly container: string
  readonly podIP: string
  readonly record: ContainerRecord
  readonly process: ContainerProcess
  readonly heldInput?: number | undefined
}

/**
 * The containers that run here, whether this run of the program started or adopted them. While a container is owned,
 * its output is collected; when it has ended, what it held is let go and its exit is recorded.
 */
export class OwnedContainers {
  readonly #options: OwnedContainersOptions
  readonly #logTurns = new LogTurns()
  /** By Pod, then by container. A Pod of which nothing runs is not there. */
  readonly #pods = new Map<string, Map<string, OwnedContainer>>()
  #closed = false

  constructor(options: OwnedContainersOptions) {
    this.#options = options
  }

  hasPod(podUid: string): boolean {
    return this.#pods.has(podUid)
  }

  get(podUid: string, container: string): OwnedContainer | undefined {
    return this.#pods.get(podUid)?.get(container)
  }

  ofPod(podUid: string): OwnedContainer[] {
    return [...(this.#pods.get(podUid)?.values() ?? [])]
  }

  get all(): OwnedContainer[] {
    return [...this.#pods.values()].flatMap((containers) => [...containers.values()])
  }

  add({ pod, container, podIP, record, process, heldInput }: NewlyOwned): OwnedContainer {
    const { attempt, cards, pid, startedAt } = record
    const about = { podUid: pod.uid, container, attempt, podIP, cards, pid, startedAt }
    const owned: OwnedContainer = {
      ...about,
      process,
      collector: this.#collector(pod, container, attempt),
      record,
      heldInput,
      exited: process.exited.then((exit) => this.#ended(owned, exit)),
    }
    const containers = this.#pods.get(pod.uid) ?? new Map<string, OwnedContainer>()
    this.#pods.set(pod.uid, containers.set(container, owned))
    return owned
  }

  /** Stops following them without ending them: the next run of the program adopts them. */
  close(): void {
    this.#closed = true
    for (const { collector } of this.all) collector.close()
  }

  /** Resolves with what is to be told of the end, once everything about it is collected and recorded. */
  async #ended(owned: OwnedContainer, exit: ContainerExit): Promise<ContainerExit> {
    const { podUid, container, record } = owned
    await collectEnd(owned.collector, this.#options.clock)
    closeAll([owned.heldInput])
    owned.heldInput = undefined
    const told = await withLastWords(exit, record, owned.collector.path)
    if (this.#closed) return told
    removeGroups(record.cgroups)
    this.#options.images.roots?.letGo({ id: record.imageId }, { podUid, container })
    // On disk before anybody is told: whoever is told may be killed before the cluster knows it.
    await this.#options.records.end(podUid, container, told).catch((error: unknown) => {
      this.#options.log.warn({ err: error, pod: podUid, container }, 'the end of a container could not be recorded')
    })
    const containers = this.#pods.get(podUid)
    containers?.delete(container)
    if (containers?.size === 0) this.#pods.delete(podUid)
    return told
  }

  #collector(pod: PodIdentity, container: string, attempt: number): LogCollector {
    const { clock, log, logHub: hub, logLimits, logs } = this.#options
    const folder = containerLogFolder(logs, pod, container)
    const turns = this.#logTurns
    return new LogCollector({ folder, attempt, clock, log, hub, turns, ...(logLimits && { limits: logLimits }) })
  }
}
