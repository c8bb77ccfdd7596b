import type { Container, Pod } from '../resources/pod.ts'

/**
 * Runs the containers of Pods on this machine and owns their processes: nobody else starts or signals one. When to start,
 * restart and stop is decided by its user, the node agent.
 */
export interface PodRuntime {
  /** Starts one container; resolves once it runs. Throws `ContainerRefused` when it cannot. */
  start(launch: ContainerLaunch, signal: AbortSignal): Promise<RunningContainer>
  /** Ends a Pod's containers (or one): asks, waits for the grace, then forces. A shorter grace may follow a longer one. Resolves when nothing of them is left. */
  stop(podUid: string, graceMs: number, container?: string): Promise<void>
  /** What a former run of this program left running and this one owns from now on. Ends what it cannot tell the Pod of. */
  adopt(): Promise<readonly RunningContainer[]>
  /** Removes what is kept on disk for a Pod whose processes are gone: scratch volumes and logs. */
  forget(pod: PodIdentity): Promise<void>
  /** The same for every Pod other than these and those that run: what former runs of this program left. */
  retain(podUids: ReadonlySet<string>): Promise<void>
}

export interface PodIdentity {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export interface ContainerLaunch {
  readonly pod: Pod
  readonly container: Container
  /** 0 for the first start of the container, one more for each restart. */
  readonly attempt: number
  readonly podIP: string
  /** Indices of the cards this container may use. */
  readonly cards: readonly number[]
}

export interface RunningContainer {
  readonly podUid: string
  readonly container: string
  readonly attempt: number
  readonly podIP: string
  readonly cards: readonly number[]
  readonly pid: number
  readonly startedAt: number
  /** Settles once, when the process and everything it left behind is gone. Never rejects. */
  readonly exited: Promise<ContainerExit>
}

export interface ContainerExit {
  readonly exitCode: number
  readonly signal?: number
  readonly reason: 'Completed' | 'Error' | 'ContainerStatusUnknown'
  readonly message?: string
  readonly finishedAt: number
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
