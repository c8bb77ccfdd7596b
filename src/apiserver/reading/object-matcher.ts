import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { Selection } from '../api-requests.ts'
import { matchesFields, selectedName } from './field-selector.ts'
import type { Turns } from '../flow-control/flow-control.ts'
import { matchesLabels } from './label-selector.ts'

export type Matches = (object: KubernetesObject) => boolean

export function selectsAll({ labels = [], fields = [] }: Selection): boolean {
  return labels.length + fields.length === 0
}

export function matcherOf({ labels = [], fields = [] }: Selection): Matches {
  const name = selectedName(fields)
  return (object) =>
    (name === undefined || object.metadata.name === name) &&
    matchesLabels(labels, object.metadata.labels) &&
    matchesFields(fields, object)
}

/** The clock is read once for this many objects. */
const objectsPerLook = 128

/** Filters many items without keeping others waiting. The list must not change meanwhile. */
export async function selectInTurns<T>(
  items: readonly T[],
  select: (item: T) => KubernetesObject | undefined,
  turns: Turns,
): Promise<KubernetesObject[]> {
  const selected: KubernetesObject[] = []
  let seen = 0
  for (const item of items) {
    const object = select(item)
    if (object) selected.push(object)
    seen += 1
    if (seen % objectsPerLook === 0 && turns.isOver) await turns.next()
  }
  return selected
}
