import type { Pod } from '../resources/pod.ts'
import type { TakenName } from '../resources/served-names.ts'
import type { Engine, EngineTable } from './engines/engine.ts'
import type { GroupRoom } from './groups/group-room.ts'
import type { ProfileFacts } from './resource-profile.ts'
import type { StartProgress } from './starts/start-progress.ts'

/** What a plan needs to know besides the Model and its Pods. */
export interface OperatorFacts {
  readonly now: number
  /** The registry of the cluster's compute center, from which images come. */
  readonly registry: string
  /** The version of this program, which is the tag of its images. */
  readonly version: string
  readonly files: FileState
  readonly profiles: ProfileFacts
  /** Those that are built in, if nothing else is said. */
  readonly engines?: EngineTable | undefined
  /** Names that the Model wants to have and others have. */
  readonly takenNames?: readonly TakenName[] | undefined
  /** Why the Model's engine cannot run here, such as `VLLM needs vllm on this machine`. */
  readonly engineUnavailable?: string | undefined
  /** Why the cluster refused the Pod of this spec, if it did. */
  readonly podRefused?: string | undefined
  /** The start that was given up, if one was. It counts as long as Pods would be the same. */
  readonly givenUp?: GivenUpStart | undefined
  /** The key of the Model's Secret that new Pods are started with; none for a Model that brings its own. */
  readonly engineKey?: string | undefined
  /** A draining Pod is deleted after this long, whatever it still serves. */
  readonly drainDeadlineMs: number
  /** How long a Pod has been draining. */
  drainingMs(pod: Pod): number
  /** Requests in flight at a Pod. `undefined`: unknown, so a drain waits for its deadline. */
  busy(podName: string): number | undefined
  /** What is seen of a Pod that loads its model, after the first seconds. */
  startProgress?(pod: Pod): StartProgress | undefined
  /** How long a Pod has taken to load, if that was seen. */
  loadSeconds?(pod: Pod): number | undefined
  /** Without it, there is room for every group. */
  readonly groupRoom?: Pick<GroupRoom, 'lack'> | undefined
  /** Five random characters for the name of the nth new Pod. */
  suffix(index: number): string
}

/** A start that cannot succeed, however often it is tried. */
export interface GivenUpStart {
  /** Of the Pods that were started. */
  readonly hash: string
  readonly message: string
}

export interface FileState {
  /** `unusable`: they are there, and the engine cannot serve them. */
  readonly state: 'present' | 'missing' | 'unusable' | 'unknown'
  readonly message?: string | undefined
  /** The files are on their way: worth waiting for. */
  readonly pending?: boolean | undefined
}

/** Tells whether the files of a Model are where its URL says. Implemented by the platform. */
export interface ModelFiles {
  check(claim: string, path: string, form: Engine['files']): FileState
}
