import { keyOf, refOf } from '../../resources/kubernetes-object.ts'
import { type Pod, isPodTerminating } from '../../resources/pod.ts'
import { isGated, membershipOf } from '../../resources/serving-group.ts'

/** Which Pods belong to which serving group, kept up to date by changes. */
export class GroupMembers {
  /** By namespace and group, then by the Pod's name. */
  readonly #groups = new Map<string, Map<string, Pod>>()

  note(pod: Pod, isGone: boolean): void {
    const group = groupKey(pod)
    if (group === undefined) return
    const members = this.#groups.get(group) ?? new Map<string, Pod>()
    const { name, uid } = pod.metadata
    if (!isGone) members.set(name, pod)
    else if (members.get(name)?.metadata.uid === uid) members.delete(name)
    if (members.size > 0) this.#groups.set(group, members)
    else this.#groups.delete(group)
  }

  /**
   * The Pods that have to be placed in one go with this one, itself among them; or why it has to wait for others.
   * `waits` tells whether a Pod may be placed and is not being placed yet.
   */
  placedWith(
    pod: Pod,
    waits: (pod: Pod) => boolean,
  ): { readonly pods: readonly Pod[] } | { readonly unschedulable: string } {
    const membership = membershipOf(pod)
    if (!membership) return { pods: [pod] }
    const members = [...(this.#groups.get(groupKey(pod) ?? '')?.values() ?? [])]
    const waiting = members.filter(waits)
    const placeable = members.filter((member) => !isGated(member) && !isPodTerminating(member)).length
    if (placeable < membership.size) {
      return { unschedulable: `waiting for its group: ${placeable} of ${membership.size} Pods can be placed.` }
    }
    // One order for all, whoever asks first.
    return { pods: waiting.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)) }
  }
}

function groupKey(pod: Pod): string | undefined {
  const group = membershipOf(pod)?.group
  return group === undefined ? undefined : keyOf({ namespace: pod.metadata.namespace, name: group })
}

function nameOf(pod: Pod): string {
  return keyOf(refOf(pod))
}
