import type { Pod } from '../resources/pod.ts'
import type { ProfileFacts } from './resource-profile.ts'

/** What a plan needs to know besides the Model and its Pods. */
export interface OperatorFacts {
  readonly now: number
  /** The registry of the cluster's compute center, from which images come. */
  readonly registry: string
  /** The version of this program, which is the tag of its images. */
  readonly version: string
  readonly files: FileState
  readonly profiles: ProfileFacts
  /** Why the Model's engine cannot run here, such as `VLLM needs vllm on this machine`. */
  readonly engineUnavailable?: string | undefined
  /** Why the cluster refused the Pod of this spec, if it did. */
  readonly podRefused?: string | undefined
  /** The key of the Model's Secret that new Pods are started with; none for a Model that brings its own. */
  readonly engineKey?: string | undefined
  /** A draining Pod is deleted after this long, whatever it still serves. */
  readonly drainDeadlineMs: number
  /** How long a Pod has been draining. */
  drainingMs(pod: Pod): number
  /** Requests in flight at a Pod. `undefined`: unknown, so a drain waits for its deadline. */
  busy(podName: string): number | undefined
  /** Five random characters for the name of the nth new Pod. */
  suffix(index: number): string
}

export interface FileState {
  readonly state: 'present' | 'missing' | 'unknown'
  readonly message?: string | undefined
  /** The files are on their way: worth waiting for. */
  readonly pending?: boolean | undefined
}

/** Tells whether the files of a Model are where its URL says. Implemented by the platform. */
export interface ModelFiles {
  check(claim: string, path: string): FileState
}
