import type { ObjectMeta } from '../../resources/kubernetes-object.ts'

/** Which objects own which, by uid. */
export class OwnerGraph {
  readonly #names = new Map<string, string>()
  readonly #owners = new Map<string, readonly string[]>()

  add(name: string, { uid, ownerReferences = [] }: ObjectMeta): void {
    if (uid === undefined) return
    this.#names.set(uid, name)
    if (ownerReferences.length > 0) {
      this.#owners.set(
        uid,
        ownerReferences.map((owner) => owner.uid),
      )
    }
  }

  /** The names of objects that own each other in a circle, one list for each circle. Visits every object once. */
  circles(): readonly (readonly string[])[] {
    const finished = new Set<string>()
    const found: string[][] = []
    for (const begin of this.#owners.keys()) {
      if (!finished.has(begin)) this.#walk(begin, finished, found)
    }
    return found
  }

  /** Depth first, with its own stack: a chain of owners may be longer than the call stack. */
  #walk(begin: string, finished: Set<string>, found: string[][]): void {
    const path: string[] = []
    const places = new Map<string, number>()
    const stack: { readonly uid: string; next: number }[] = []
    const enter = (uid: string) => {
      places.set(uid, path.push(uid) - 1)
      stack.push({ uid, next: 0 })
    }
    enter(begin)
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const owner = this.#owners.get(top.uid)?.[top.next++]
      if (owner === undefined) {
        stack.pop()
        path.pop()
        places.delete(top.uid)
        finished.add(top.uid)
        continue
      }
      const place = places.get(owner)
      if (place !== undefined) found.push(path.slice(place).map((uid) => this.#names.get(uid) ?? uid))
      else if (!finished.has(owner) && this.#owners.has(owner)) enter(owner)
    }
  }
}
