import { keptBytes } from '../bytes/put-bytes.ts'
import type { OutputBatch } from '../socket/socket-output.ts'
import type { HeaderField } from './header-field.ts'

/** The beginning of a head as it goes on: its first line, and of its fields those that are the same each time. */
export interface SentHead {
  /** Where it has been sent before. */
  readonly bytes: Buffer | undefined
  /** Where it has not; else empty. */
  readonly text: string
  readonly hasHost: boolean
  readonly dated: boolean
}

/** A head's first line and those of its own fields that go on. */
export interface SentText {
  readonly text: string
  readonly hasHost?: boolean
  readonly dated?: boolean
}

/**
 * Remembers how one head was last sent on: one text for each head that a connection remembers. It depends on the head
 * itself, on the target it is sent to, and on the fields that a handler sets or removes; as long as these stay the
 * same, so does the text, and the second time it is turned into bytes. To put it together anew takes three times as
 * long.
 */
export class SentHeads {
  #target = ''
  #set: readonly HeaderField[] = []
  #remove: readonly string[] = []
  #last: SentHead | undefined

  /** `remove` is compared by identity, as `HeaderChanges` says. */
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

/** Writes it, with those fields that are different each time and so are not in it. */
export function writeSentHead(
  { bytes, text }: SentHead,
  set: readonly HeaderField[],
  out: Pick<OutputBatch, 'addBuffer' | 'addText'>,
): void {
  if (bytes) out.addBuffer(bytes)
  else out.addText(text)
  for (const field of set) if (!field.known.isSteady && maySet(field)) out.addText(field.line)
}

/** How a message is framed is nobody's business but the relay's. */
export function maySet({ known }: HeaderField): boolean {
  return !known.isHop && known.role !== 'content-length'
}

/**
 * A steady field has to be the very same. What is known of a name is made once, so the same name is the same object.
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
