import { type Condition, type KubernetesObject, withCondition } from '../../resources/kubernetes-object.ts'
import { isJsonObject, valueAtPath } from '../../resources/json-value.ts'
import { type Definition, type Names, readDefinition } from './definition.ts'

/**
 * A definition with its status: which of its names it got, whether it is served, and in which versions its objects may
 * be stored. `others` are the definitions of the same group.
 */
export function withStatus(object: KubernetesObject, others: readonly Definition[], now: number): KubernetesObject {
  const definition = readDefinition(object)
  const { names } = definition
  const taken = takenNames(others)
  const conflicts = conflictsOf(names, taken)
  const status = isJsonObject(object['status']) ? object['status'] : {}
  return {
    ...object,
    status: {
      ...status,
      conditions: conditionsOf(status['conditions'], conflicts, now),
      acceptedNames: acceptedNames(names, taken),
      storedVersions: storedVersions(status['storedVersions'], definition),
    },
  }
}

/** The finalizer that keeps a definition until its objects are gone. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io'

export function withTermination(object: KubernetesObject, now: number): KubernetesObject {
  const { finalizers = [] } = object.metadata
  const status = isJsonObject(object['status']) ? object['status'] : {}
  const condition: Condition = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionInProgress',
    message: 'CustomResource deletion is in progress',
  }
  return {
    ...object,
    metadata: { ...object.metadata, finalizers: [...new Set([...finalizers, cleanupFinalizer])] },
    status: { ...status, conditions: withCondition(readConditions(status['conditions']), condition, now) },
  }
}

function written({ plural, singular, kind, listKind, shortNames, categories }: Names): Record<string, unknown> {
  return {
    plural,
    singular,
    ...(shortNames.length > 0 && { shortNames }),
    kind,
    listKind,
    ...(categories.length > 0 && { categories }),
  }
}

interface TakenNames {
  readonly resources: ReadonlySet<string>
  readonly kinds: ReadonlySet<string>
}

function takenNames(others: readonly Definition[]): TakenNames {
  const all = others.map(({ names }) => names)
  return {
    resources: new Set(all.flatMap(({ plural, singular, shortNames }) => [plural, singular, ...shortNames])),
    kinds: new Set(all.flatMap(({ kind, listKind }) => [kind, listKind])),
  }
}

interface Conflict {
  readonly reason: string
  readonly message: string
}

function conflictsOf(names: Names, { resources, kinds }: TakenNames): Conflict[] {
  const { plural, singular, shortNames, kind, listKind } = names
  const inUse = (name: string) => `${JSON.stringify(name)} is already in use`
  const short = shortNames.filter((name) => resources.has(name))
  return [
    ...(resources.has(plural) ? [{ reason: 'PluralConflict', message: inUse(plural) }] : []),
    ...(resources.has(singular) ? [{ reason: 'SingularConflict', message: inUse(singular) }] : []),
    ...(short.length > 0 ? [{ reason: 'ShortNamesConflict', message: short.map(inUse).join(', ') }] : []),
    ...(kinds.has(kind) ? [{ reason: 'KindConflict', message: inUse(kind) }] : []),
    ...(kinds.has(listKind) ? [{ reason: 'ListKindConflict', message: inUse(listKind) }] : []),
  ]
}

function acceptedNames(names: Names, { resources, kinds }: TakenNames): Record<string, unknown> {
  const resource = (name: string) => (resources.has(name) ? '' : name)
  const kind = (name: string) => (kinds.has(name) ? '' : name)
  return written({
    plural: resource(names.plural),
    singular: resource(names.singular),
    kind: kind(names.kind),
    listKind: kind(names.listKind),
    shortNames: names.shortNames.filter((name) => !resources.has(name)),
    categories: names.categories,
  })
}

function conditionsOf(before: unknown, conflicts: readonly Conflict[], now: number): Condition[] {
  const [first] = conflicts
  const accepted: Condition = first
    ? {
        type: 'NamesAccepted',
        status: 'False',
        reason: first.reason,
        message: conflicts.map(({ message }) => message).join(', '),
      }
    : { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
  const established: Condition = first
    ? { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' }
    : {
        type: 'Established',
        status: 'True',
        reason: 'InitialNamesAccepted',
        message: 'the initial names have been accepted',
      }
  const conditions = readConditions(before)
  const wasEstablished = conditions.find(({ type }) => type === 'Established')?.status === 'True'
  const withNames = settled(conditions, accepted, now)
  // Once served, a definition stays served, because its objects exist.
  return wasEstablished ? withNames : settled(withNames, established, now)
}

/** The conditions with `next` at its place; unchanged when it says the same as before. */
function settled(conditions: readonly Condition[], next: Condition, now: number): Condition[] {
  const at = conditions.findIndex(({ type }) => type === next.type)
  const before = conditions[at]
  if (before && before.status === next.status && before.reason === next.reason && before.message === next.message) {
    return [...conditions]
  }
  const [made = next] = withCondition(before && [before], next, now)
  return before ? conditions.with(at, made) : [...conditions, made]
}

function readConditions(value: unknown): Condition[] {
  return Array.isArray(value) ? value.filter(isCondition) : []
}

function isCondition(value: unknown): value is Condition {
  return isJsonObject(value) && typeof value['type'] === 'string' && typeof value['status'] === 'string'
}

function storedVersions(before: unknown, { versions }: Definition): string[] {
  const known = Array.isArray(before) ? before.filter((name) => typeof name === 'string') : []
  const storage = versions.find((version) => version.storage)?.name
  return storage === undefined || known.includes(storage) ? known : [...known, storage]
}

export function isTerminating(object: KubernetesObject): boolean {
  return object.metadata.deletionTimestamp !== undefined
}

export function hasCleanupFinalizer(object: KubernetesObject): boolean {
  const finalizers = valueAtPath(object, ['metadata', 'finalizers'])
  return Array.isArray(finalizers) && finalizers.includes(cleanupFinalizer)
}
