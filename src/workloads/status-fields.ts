import { isDeepStrictEqual } from 'node:util'
import { type Condition, timestamp } from '../resources/kubernetes-object.ts'

/** Counts of zero are not shown, as in Kubernetes. */
export function nonZero<Name extends string>(counts: Readonly<Record<Name, number | undefined>>) {
  const shown: { [name in Name]?: number } = {}
  for (const name in counts) {
    const count = counts[name]
    if (count !== undefined && count !== 0) shown[name] = count
  }
  return shown
}

/** Whether two statuses are the same; missing and undefined fields are equal. */
export function sameStatus(left: unknown, right: unknown): boolean {
  return isDeepStrictEqual(plain(left), plain(right))
}

function plain(value: unknown): unknown {
  if (value === undefined) return {}
  return JSON.parse(JSON.stringify(value))
}

/** Replaces the condition of the same type; the transition time only moves when the status does. */
export function putCondition<C extends Condition>(
  conditions: readonly C[],
  next: Omit<Condition, 'lastTransitionTime'>,
  now: number,
): (C | Condition)[] {
  const before = conditions.find(({ type }) => type === next.type)
  if (before && before.status === next.status && before.reason === next.reason && before.message === next.message) {
    return [...conditions]
  }
  const lastTransitionTime = before?.status === next.status ? before.lastTransitionTime : timestamp(now)
  const condition = { ...next, lastTransitionTime: lastTransitionTime ?? timestamp(now) }
  return [...withoutCondition(conditions, next.type), condition]
}

export function withoutCondition<C extends Condition>(conditions: readonly C[], type: string): C[] {
  return conditions.filter((condition) => condition.type !== type)
}

/** Conditions as a field, which is left out when there are none. */
export function conditionsField<C>(conditions: readonly C[]): { conditions?: C[] } {
  return conditions.length === 0 ? {} : { conditions: [...conditions] }
}
