/**
 * A set of fields in the form of the wire (FieldsV1). Every key is an element of a path (`f:name`, `k:{"name":"x"}`,
 * `v:"x"`, `i:0`), and its value holds the fields below. An element is in the set itself if nothing is below it, or if
 * `.` is. Sets are worked with in this form, so nothing is translated on a write.
 */
export interface FieldSet {
  readonly [element: string]: FieldSet
}

export type MutableFieldSet = Record<string, FieldSet>

/** A field with nothing below it. */
export const leaf: FieldSet = Object.freeze({})

/** A node for an element: whether it is in the set itself, and what is below it. `undefined` is the empty set. */
export function fieldNode(belongs: boolean, below: MutableFieldSet | undefined): FieldSet | undefined {
  if (below === undefined || isLeaf(below)) return belongs ? leaf : undefined
  return belongs ? { '.': leaf, ...below } : below
}

export function isLeaf(set: FieldSet): boolean {
  for (const _element in set) return false
  return true
}

/** Whether the element of this node is itself in the set. */
export function belongs(node: FieldSet): boolean {
  return node['.'] !== undefined || isLeaf(node)
}

/** For the field sets of whole objects: an object itself belongs to nobody, so without fields the set is empty. */
export function nonEmpty(set: FieldSet | undefined): FieldSet | undefined {
  return set === undefined || isLeaf(set) ? undefined : set
}

export function union(one: FieldSet | undefined, other: FieldSet | undefined): FieldSet | undefined {
  if (one === undefined || one === other) return other
  if (other === undefined) return one
  const below: MutableFieldSet = {}
  for (const element in one) {
    if (element === '.') continue
    below[element] = union(one[element], other[element]) ?? leaf
  }
  for (const element in other) {
    const added = other[element]
    if (element !== '.' && added !== undefined && one[element] === undefined) below[element] = added
  }
  return fieldNode(belongs(one) || belongs(other), below)
}

/** The union for sets of whole objects, where an empty set is not a field. */
export function unionOfObjects(one: FieldSet | undefined, other: FieldSet | undefined): FieldSet | undefined {
  const first = nonEmpty(one)
  const second = nonEmpty(other)
  return first && second ? union(first, second) : (first ?? second)
}

/** The union of very many sets, in pairs, so that nothing is copied again for each of the others. */
export function unionOfAll(sets: Iterable<FieldSet>): FieldSet | undefined {
  let round: Array<FieldSet | undefined> = [...sets]
  while (round.length > 1) {
    const pairs: Array<FieldSet | undefined> = []
    for (let at = 0; at < round.length; at += 2) pairs.push(unionOfObjects(round[at], round[at + 1]))
    round = pairs
  }
  return nonEmpty(round[0])
}

export function intersection(one: FieldSet | undefined, other: FieldSet | undefined): FieldSet | undefined {
  if (one === undefined || other === undefined || one === other) return one && other
  const below: MutableFieldSet = {}
  for (const element in one) {
    if (element === '.') continue
    const shared = intersection(one[element], other[element])
    if (shared !== undefined) below[element] = shared
  }
  return fieldNode(belongs(one) && belongs(other), below)
}

/** What is in one set and not in the other. A field of the other removes only that field, not those below it. */
export function difference(one: FieldSet | undefined, other: FieldSet | undefined): FieldSet | undefined {
  if (one === undefined || other === undefined) return one
  let changed = false
  const below: MutableFieldSet = {}
  for (const element in one) {
    const node = one[element]
    if (element === '.' || node === undefined) continue
    const left = difference(node, other[element])
    if (left !== node) changed = true
    if (left !== undefined) below[element] = left
  }
  const belonged = belongs(one)
  const stays = belonged && !belongs(other)
  return changed || stays !== belonged ? fieldNode(stays, below) : one
}

/** The same, but a field of the other also removes everything below it. */
export function withoutBranches(one: FieldSet | undefined, other: FieldSet | undefined): FieldSet | undefined {
  if (one === undefined || other === undefined) return one
  if (belongs(other)) return undefined
  const below: MutableFieldSet = {}
  for (const element in one) {
    if (element === '.') continue
    const left = withoutBranches(one[element], other[element])
    if (left !== undefined) below[element] = left
  }
  return fieldNode(belongs(one), below)
}

export function hasPath(set: FieldSet | undefined, path: readonly string[]): boolean {
  let node = set
  for (const element of path) node = node?.[element]
  return node !== undefined && path.length > 0 && belongs(node)
}

/** The set of one path. */
export function setOfPath(path: readonly string[]): FieldSet {
  return path.reduceRight<FieldSet>((below, element) => ({ [element]: below }), leaf)
}

/** Every path of the set: first those that end here, then longer ones, each in the order of `compare`. */
export function pathsOf(
  set: FieldSet | undefined,
  compare: (one: string, other: string) => number,
  prefix: readonly string[] = [],
): string[][] {
  if (set === undefined) return []
  const elements = Object.keys(set)
    .filter((element) => element !== '.')
    .sort(compare)
  const here = elements.filter((element) => belongs(set[element] ?? leaf)).map((element) => [...prefix, element])
  return [...here, ...elements.flatMap((element) => pathsOf(set[element], compare, [...prefix, element]))]
}
