import type { PodNames } from './network/pod-names.ts'
import type { Readable, Writable } from 'node:stream'
import type { Container, Pod } from '../resources/pod.ts'
import type { Card } from './cards/card.ts'
import type { ReferencedObjects } from './environment/referenced-objects.ts'
import type { StorageUse } from './storage/storage-limits.ts'
import type { VolumeFiles } from './volumes/volume-files.ts'

/**
 * Runs containers on this machine and owns their processes: nobody else starts or signals them. The node agent decides
 * when to start, restart and stop.
 */
export interface PodRuntime {
  /** Starts one container; resolves once it runs. Throws `ContainerRefused` if it cannot. */
  start(launch: ContainerLaunch, signal: AbortSignal): Promise<RunningContainer>
  /**
   * Ends a Pod's containers, or one of them: asks, waits for the grace period, then kills. A later call may shorten the
   * grace. Resolves when nothing of them is left.
   */
  stop(podUid: string, graceMs: number, container?: string): Promise<void>
  /**
   * Takes over what a former run of this program left running, and returns it. Ends processes that belong to no known
   * Pod.
   */
  adopt(): Promise<readonly RunningContainer[]>
  /** Containers that have ended without `settle` having been called, perhaps while this program did not run. */
  unsettled(podUid: string): readonly EndedContainer[]
  /** Tells that the cluster knows how these containers ended, so that this need not be remembered here. */
  settle(podUid: string, containers: readonly string[]): Promise<void>
  /** Replaces the files of a volume, all at once, and gives them to this group. Returns whether anything changed. */
  writeVolume(podUid: string, volume: string, files: VolumeFiles, group?: number): Promise<boolean>
  /** Runs a program in a running container; resolves when it has ended. Aborting the signal kills it. */
  exec(
    podUid: string,
    container: string,
    words: readonly string[],
    streams: ExecStreams,
    signal: AbortSignal,
  ): Promise<ExecResult>
  /** What a Pod uses on disk and in its memory volumes; `undefined` if that cannot be measured. */
  storageOf(pod: Pod, signal: AbortSignal): Promise<StorageUse | undefined>
  /**
   * Removes a Pod's own volumes once nothing of it will run again: they must not take up space until the Pod is
   * deleted.
   */
  removeVolumes(podUid: string): Promise<void>
  /** How this runtime isolates and limits containers. */
  facts(): Promise<RuntimeFacts>
  /** Removes the files and logs of a Pod whose processes are gone. */
  forget(pod: PodIdentity): Promise<void>
  /** Does the same for all Pods except these and running ones: cleans up after former runs. */
  retain(podUids: ReadonlySet<string>): Promise<void>
}

/** A stream that is not wanted is `undefined`. With a terminal, all output comes on stdout. */
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
  /** Whether containers have their own mount and PID namespaces; the message says why not. */
  readonly namespaces: boolean
  readonly isolationMessage: string
  readonly limitsEnforced: boolean
  readonly limitsMessage: string
  /** The folder where Pods keep their files. */
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
  /** The IPv6 address, if the Pod has one. */
  readonly podIP6?: string | undefined
  /** The network namespace file; empty or absent for the machine's network. */
  readonly network?: string
  /** The container whose PID namespace it joins. */
  readonly target?: string | undefined
  /** Its host name and resolver files, if not the machine's. */
  readonly names?: Pick<PodNames, 'hostname' | 'files'> | undefined
  /** The indices of the cards it may use, and details about them. */
  readonly cards: readonly number[]
  readonly cardFacts?: readonly Card[]
  /** Whether the cards are only simulated, which the container is told. */
  readonly cardsSimulated?: boolean
  /** The ConfigMaps and Secrets that its environment refers to. */
  readonly references?: ReferencedObjects
  /** The environment variables by which it finds Services. */
  readonly serviceVariables?: Readonly<Record<string, string>>
  /** What the node can give, as the limit of containers that set none. */
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
  /** What it asked for but does not get. */
  readonly warning?: string | undefined
  /** Resolves once the process and everything it left behind is gone. Never rejects. */
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

/** Why a container cannot start: the waiting reason in its status. */
export type RefusalReason =
  | 'ErrImagePull'
  | 'CreateContainerConfigError'
  | 'CreateContainerError'
  | 'RunContainerError'
  | 'NodeStopping'

export class ContainerRefused extends Error {
  override readonly name = 'ContainerRefused'
  readonly reason: RefusalReason

  constructor(reason: RefusalReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
