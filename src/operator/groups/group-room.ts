import type { Pod } from '../../resources/pod.ts'

/** Whether there is room for all Pods of a group at once. Implemented by the platform. */
export interface GroupRoom {
  /** Why these Pods cannot all be placed now; undefined when they can. */
  lack(pods: readonly Pod[]): string | undefined
  /** Takes the room for them, so that no other group counts on it. False when there is none any more. */
  reserve(pods: readonly Pod[]): boolean
}
