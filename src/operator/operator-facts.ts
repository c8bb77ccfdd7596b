import type { Pod } from '../resources/pod.ts'
import type { ProfileFacts } from './resource-profile.ts'

/** What a plan needs to know besides the Model and its Pods. */
export interface OperatorFacts {
  readonly now: number
  /** Of the cluster's compute center: images come from there. */
  readonly registry: string
  /** Of this program; images carry it as their tag. */
  readonly version: string
  readonly files: FileState
  readonly profiles: ProfileFacts
  /** Why the Model's engine cannot run here, such as `VLLM needs vllm on this machine`. */
  readonly engineUnavailable?: string | undefined
  /** Why the cluster refused the Pod that this spec asks for, when it did. */
  readonly podRefused?: string | undefined
  /** Which key of the Model's Secret new Pods are started with; none for a Model that has its own. */
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
  /** They are on their way: worth waiting for. */
  readonly pending?: boolean | undefined
}

/** Whether the files of a Model are where its URL says. Filled by platform. */
export interface ModelFiles {
  check(claim: string, path: string): FileState
}
