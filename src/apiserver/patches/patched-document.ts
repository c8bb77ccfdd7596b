import { briefJson } from '../../resources/brief-json.ts'
import { StatusError } from '../../resources/status-error.ts'
import { isJsonObject } from '../../resources/json-value.ts'

type Container = unknown[] | Record<string, unknown>

/** The most items that may be shifted in all: every insertion at the front of a list moves the whole list. */
const mostMoved = 50_000_000

/**
 * A document that a patch changes step by step, while the original object stays as it is. Each list and object on the
 * way to a change is copied once for the whole patch, however many steps there are; what no step touches is shared with
 * the original.
 */
export class PatchedDocument {
  #root: unknown
  /** Copies that belong to this document alone and are changed in place. */
  readonly #own = new Set<object>()
  #moved = 0

  constructor(target: unknown) {
    this.#root = target
  }

  get value(): unknown {
    return this.#root
  }

  /**
   * Called for a value that will stand in two places: it belongs to neither, so that changing one does not change the
   * other.
   */
  shared(value: unknown): unknown {
    this.#disown(value)
    return value
  }

  #disown(value: unknown): void {
    // What is not our copy contains no copies of ours, so nothing is walked twice.
    if (typeof value !== 'object' || value === null || !this.#own.delete(value)) return
    for (const inner of Array.isArray(value) ? value : Object.values(value)) this.#disown(inner)
  }

  read(path: readonly string[]): unknown {
    let value = this.#root
    for (const segment of path) {
      if (Array.isArray(value)) value = value[indexIn(value, segment, value.length - 1)]
      else if (isJsonObject(value) && Object.hasOwn(value, segment)) value = value[segment]
      else throw misfit(`${shownPath(path)} is not there`)
    }
    return value
  }

  change(path: readonly string[], how: 'add' | 'replace' | 'remove', value: unknown): void {
    const last = path.at(-1)
    if (last === undefined) {
      if (how === 'remove') throw misfit('the whole object cannot be removed')
      this.#root = value
      return
    }
    const holder = this.#holder(path)
    if (Array.isArray(holder)) this.#changeItem(holder, last, how, value)
    else changeField(holder, last, how, value)
  }

  #changeItem(list: unknown[], segment: string, how: 'add' | 'replace' | 'remove', value: unknown): void {
    if (how === 'add' && segment === '-') {
      list.push(value)
      return
    }
    const index = indexIn(list, segment, list.length - (how === 'add' ? 0 : 1))
    if (how === 'replace') {
      list[index] = value
      return
    }
    this.#moved += list.length - index
    if (this.#moved > mostMoved)
      throw misfit('the patch moves more items of lists than this server does for one request')
    if (how === 'remove') list.splice(index, 1)
    else list.splice(index, 0, value)
  }

  /** The container of the last segment, with everything on the way to it copied. */
  #holder(path: readonly string[]): Container {
    let holder = this.#ours(this.#root, path[0])
    this.#root = holder
    for (let at = 0; at < path.length - 1; at += 1) {
      const segment = path[at] ?? ''
      if (Array.isArray(holder)) {
        const index = indexIn(holder, segment, holder.length - 1)
        const inner: Container = this.#ours(holder[index], path[at + 1])
        holder[index] = inner
        holder = inner
      } else {
        if (segment === '__proto__') throw misfit(`there is nothing to hold ${shown(segment)}`)
        if (!Object.hasOwn(holder, segment)) throw misfit(`${shown(segment)} is not there`)
        const inner: Container = this.#ours(holder[segment], path[at + 1])
        holder[segment] = inner
        holder = inner
      }
    }
    return holder
  }

  #ours(value: unknown, wanted: string | undefined): Container {
    const isList = Array.isArray(value)
    if (!isList && !isJsonObject(value)) throw misfit(`there is nothing to hold ${shown(wanted)}`)
    if (this.#own.has(value)) return value
    const copy = isList ? [...value] : { ...value }
    this.#own.add(copy)
    return copy
  }
}

function changeField(
  holder: Record<string, unknown>,
  field: string,
  how: 'add' | 'replace' | 'remove',
  value: unknown,
): void {
  if (field === '__proto__') throw misfit(`there is nothing to hold ${shown(field)}`)
  if (how !== 'add' && !Object.hasOwn(holder, field)) throw misfit(`${shown(field)} is not there`)
  if (how === 'remove') delete holder[field]
  else holder[field] = value
}

function indexIn(list: readonly unknown[], segment: string, highest: number): number {
  const index = /^(0|[1-9]\d{0,9})$/.test(segment) ? Number(segment) : Number.NaN
  if (Number.isNaN(index) || index > highest)
    throw misfit(`${shown(segment)} is not an index of a list of ${list.length}`)
  return index
}

/** The error for a valid patch that cannot be applied to this object. */
export function misfit(why: string): StatusError {
  return new StatusError('Invalid', `the server rejected our request due to an error in our request: ${why}`)
}

function shown(value: unknown): string {
  return briefJson(value, 200)
}

function shownPath(path: readonly string[]): string {
  return shown(`/${path.slice(0, 100).join('/')}`)
}
