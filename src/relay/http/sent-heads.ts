import { keptBytes } from '../bytes/put-bytes.ts'
import type { OutputBatch } from '../socket/socket-output.ts'
import type { HeaderField } from './header-field.ts'

/** The beginning of a head as it is sent on: its first line and those fields that stay the same. */
export interface SentHead {
  /** The bytes, from the second time on. */
  readonly bytes: Buffer | undefined
  /** The text, the first time; empty afterwards. */
  readonly text: string
  readonly hasHost: boolean
  readonly dated: boolean
}

/** A head's first line and its own fields that are sent on. */
export interface SentText {
  readonly text: string
  readonly hasHost?: boolean
  readonly dated?: boolean
}

/**
 * Remembers how one head was last sent on: one text for each head that a connection remembers. It depends on the head,
 * on the target, and on the fields that a handler sets or removes; while these stay the same, so does the text, which
 * the second time becomes bytes. Assembling it anew takes three times as long.
 */
export class SentHeads {
  #target = ''
  #set: readonly HeaderField[] = []
  #remove: readonly string[] = []
  #last: SentHead | undefined

  /** `remove` is compared by identity, see `HeaderChanges`. */
  like(target: string, set: readonly HeaderField[], remove: readonly string[]): SentHead | undefined {
    const last = this.#last
    if (!last || this.#target !== target || this.#remove !== remove || !areAlike(this.#set, set)) return undefined
    if (last.bytes) return last
    this.#last = { bytes: keptBytes(last.text), text: '', hasHost: last.hasHost, dated: last.dated }
    return this.#last
  }

  remember(
    target: string,
    set: readonly HeaderField[],
    remove: readonly string[],
    { text, hasHost = false, dated = false }: SentText,
  ): SentHead {
    let all = text
    for (const field of set) if (field.known.isSteady && maySet(field)) all += field.line
    this.#target = target
    this.#set = set
    this.#remove = remove
    this.#last = { bytes: undefined, text: all, hasHost, dated }
    return this.#last
  }
}

/** Writes the head, and the fields that differ each time. */
export function writeSentHead(
  { bytes, text }: SentHead,
  set: readonly HeaderField[],
  out: Pick<OutputBatch, 'addBuffer' | 'addText'>,
): void {
  if (bytes) out.addBuffer(bytes)
  else out.addText(text)
  for (const field of set) if (!field.known.isSteady && maySet(field)) out.addText(field.line)
}

/** Handlers may not set framing fields: these are the relay's. */
export function maySet({ known }: HeaderField): boolean {
  return !known.isHop && known.role !== 'content-length'
}

/**
 * Compares the fields that were set. Steady ones have to be the same object; of others only the name counts, and each
 * name has one object.
 */
function areAlike(some: readonly HeaderField[], others: readonly HeaderField[]): boolean {
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at++) {
    const one = some[at]
    const other = others[at]
    if (one !== other && (one?.known !== other?.known || one?.known.isSteady === true)) return false
  }
  return true
}
