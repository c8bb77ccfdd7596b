import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { isStatusError } from '../../resources/status-error.ts'
import type { Deleted } from '../api-requests.ts'
import type { Turns } from '../flow-control/flow-control.ts'

export interface CollectionOptions {
  readonly turns?: Turns | undefined
  /** Aborted when nobody waits for the answer any more: the remaining objects stay. */
  readonly signal?: AbortSignal | undefined
}

/** Few enough that nobody's write waits long behind them. */
const deletedAtOnce = 16

/** Deletes objects a few at a time, which share a commit, with turns for others in between. */
export async function deleteInTurns(
  objects: readonly KubernetesObject[],
  deleteOne: (object: KubernetesObject) => Promise<Deleted>,
  { turns, signal }: CollectionOptions,
): Promise<KubernetesObject[]> {
  const deleted: KubernetesObject[] = []
  for (let at = 0; at < objects.length; at += deletedAtOnce) {
    if (at > 0) await turns?.next()
    if (signal?.aborted) break
    const results = await Promise.allSettled(objects.slice(at, at + deletedAtOnce).map(deleteOne))
    for (const result of results) {
      if (result.status === 'fulfilled') deleted.push(result.value.object)
      else if (!isStatusError(result.reason, 'NotFound')) throw result.reason
    }
  }
  return deleted
}
