import type { PodNames } from './network/pod-names.ts'
import type { Readable, Writable } from 'node:stream'
import type { Container, Pod } from '../resources/pod.ts'
import type { Card } from './cards/card.ts'
import type { ReferencedObjects } from './environment/referenced-objects.ts'
import type { StorageUse } from './storage/storage-limits.ts'
import type { VolumeFiles } from './volumes/volume-files.ts'

/**
 * Runs the containers of Pods on this machine and owns their processes: nobody else starts or signals one. When to
 * start, restart and stop is decided by its user, the node agent.
 */
export interface PodRuntime {
  /** Starts one container; resolves once it runs. Throws `ContainerRefused` when it cannot. */
  start(launch: ContainerLaunch, signal: AbortSignal): Promise<RunningContainer>
  /**
   * Ends a Pod's containers (or one): asks, waits for the grace, then forces. A shorter grace may follow a longer one.
   * Resolves when nothing of them is left.
   */
  stop(podUid: string, graceMs: number, container?: string): Promise<void>
  /**
   * What a former run of this program left running and this one owns from now on. Ends what it cannot tell the Pod of.
   */
  adopt(): Promise<readonly RunningContainer[]>
  /** Containers of a Pod whose end nobody has said to have noted: that may have been while this program did not run. */
  unsettled(podUid: string): readonly EndedContainer[]
  /** How these containers ended is noted where it outlasts this program. */
  settle(podUid: string, containers: readonly string[]): Promise<void>
  /**
   * Makes a volume of a Pod hold exactly these files, all at once, for this group. Returns whether that changed
   * anything.
   */
  writeVolume(podUid: string, volume: string, files: VolumeFiles, group?: number): Promise<boolean>
  /** Runs a program beside a container's own and resolves when it has ended. Aborting the signal kills it. */
  exec(
    podUid: string,
    container: string,
    words: readonly string[],
    streams: ExecStreams,
    signal: AbortSignal,
  ): Promise<ExecResult>
  /** What a Pod has on this machine's disk and in its memory volumes; `undefined` where it cannot be told. */
  storageOf(pod: Pod, signal: AbortSignal): Promise<StorageUse | undefined>
  /**
   * Removes a Pod's own volumes once nothing of it will run: they are not the machine's to keep until the Pod is
   * deleted.
   */
  removeVolumes(podUid: string): Promise<void>
  /** How Pods run here. */
  facts(): Promise<RuntimeFacts>
  /** Removes what is kept on disk for a Pod whose processes are gone: scratch volumes and logs. */
  forget(pod: PodIdentity): Promise<void>
  /** The same for every Pod other than these and those that run: what former runs of this program left. */
  retain(podUids: ReadonlySet<string>): Promise<void>
}

/** What is not wanted is not there. With a terminal, everything comes on stdout. */
export interface ExecStreams {
  readonly stdin?: Readable | undefined
  readonly stdout?: Writable | undefined
  readonly stderr?: Writable | undefined
  readonly terminal?: AsyncIterable<{ readonly columns: number; readonly rows: number }> | undefined
}

export interface ExecResult {
  readonly exitCode: number
  readonly signal?: string | undefined
}

export interface RuntimeFacts {
  /** Whether containers have mount and PID namespaces of their own; if not, why. */
  readonly namespaces: boolean
  readonly isolationMessage: string
  readonly limitsEnforced: boolean
  readonly limitsMessage: string
  /** Where Pods keep their files. */
  readonly folder: string
}

export interface PodIdentity {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export function podIdentity({ metadata }: Pod): PodIdentity {
  const { uid = '', namespace = '', name } = metadata
  return { uid, namespace, name }
}

export interface ContainerLaunch {
  readonly pod: Pod
  readonly container: Container
  /** 0 for the first start of the container, one more for each restart. */
  readonly attempt: number
  readonly podIP: string
  /** Of IPv6, where it has one. */
  readonly podIP6?: string | undefined
  /** The file of the network namespace it runs in; the machine's own where there is none. */
  readonly network?: string
  /** The container whose processes it is to be among. */
  readonly target?: string | undefined
  /** What stands in its files of names, where these are not the machine's. */
  readonly names?: Pick<PodNames, 'hostname' | 'files'> | undefined
  /** Indices of the cards this container may use, and what is known of them. */
  readonly cards: readonly number[]
  readonly cardFacts?: readonly Card[]
  /** Declared, not there: whoever would compute on them is told. */
  readonly cardsSimulated?: boolean
  /** The ConfigMaps and Secrets its environment refers to. */
  readonly references?: ReferencedObjects
  /** By which it finds Services. */
  readonly serviceVariables?: Readonly<Record<string, string>>
  /** What a container without limits may use. */
  readonly allocatable?: { readonly cpus: number; readonly memoryBytes: number }
}

export interface RunningContainer {
  readonly podUid: string
  readonly container: string
  readonly attempt: number
  readonly podIP: string
  readonly cards: readonly number[]
  readonly pid: number
  readonly startedAt: number
  /** What it asked for and does without. */
  readonly warning?: string | undefined
  /** Settles once, when the process and everything it left behind is gone. Never rejects. */
  readonly exited: Promise<ContainerExit>
}

export interface ContainerExit {
  readonly exitCode: number
  readonly signal?: number
  readonly reason: 'Completed' | 'Error' | 'OOMKilled' | 'StartError' | 'ContainerStatusUnknown'
  readonly message?: string
  readonly finishedAt: number
}

export interface EndedContainer {
  readonly container: string
  readonly attempt: number
  readonly startedAt: number
  readonly exit: ContainerExit
}

/** Why a container cannot start, in the word that stands in its status. */
export type RefusalReason =
  'ErrImagePull' | 'CreateContainerConfigError' | 'CreateContainerError' | 'RunContainerError' | 'NodeStopping'

export class ContainerRefused extends Error {
  override readonly name = 'ContainerRefused'
  readonly reason: RefusalReason

  constructor(reason: RefusalReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
