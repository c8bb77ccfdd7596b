/**
 * A set of fields, in the form the wire has it (FieldsV1): every key is an element of a path (`f:name`,
 * `k:{"name":"x"}`, `v:"x"`, `i:0`), and what is under it are the fields below. An element belongs to the set itself
 * when nothing is below it, or when `.` says so. As the form of the wire is also the form that sets are worked with,
 * nothing is translated on a write.
 */
export interface FieldSet {
  readonly [element: string]: FieldSet
}

export type MutableFieldSet = Record<string, FieldSet>

/** One field with nothing below it. */
export const leaf: FieldSet = Object.freeze({})

/** An element with what is below it. Nothing at all is `undefined`: the empty set. */
export function fieldNode(belongs: boolean, below: MutableFieldSet | undefined): FieldSet | undefined {
  if (below === undefined || isLeaf(below)) return belongs ? leaf : undefined
  return belongs ? { '.': leaf, ...below } : below
}

export function isLeaf(set: FieldSet): boolean {
  for (const _element in set) return false
  return true
}

/** Whether the element that has this below it is itself in the set. */
export function belongs(node: FieldSet): boolean {
  return node['.'] !== undefined || isLeaf(node)
}

/** The field sets of objects: an object as a whole belongs to nobody, so without fields it is the empty set. */
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

/** The same for the sets of whole objects, of which an empty one is no field. */
export function unionOfObjects(one: FieldSet | undefined, other: FieldSet | undefined): FieldSet | undefined {
  const first = nonEmpty(one)
  const second = nonEmpty(other)
  return first && second ? union(first, second) : (first ?? second)
}

/** Of very many: in pairs, so that none is copied again for each of the others. */
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

/** What is in the one and not in the other. A field of the other takes away that field alone, not what is below it. */
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

/** The same with everything below a field of the other. */
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

/** Every path of the set: those that end here first, then those that lead on, each in the order of `compare`. */
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
