import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { EncodedObjects } from './encoded-objects.ts'
import type { Turns } from '../flow-control/flow-control.ts'

/** A list as a client sees it, before it is encoded. */
export interface ShownList {
  /** Everything but the items: its last field is the empty array into which they go. */
  readonly frame: Readonly<Record<string, unknown>>
  readonly objects: readonly KubernetesObject[]
  readonly show: (object: KubernetesObject) => object
  /** What can be shared with other clients: the whole list, its single items, or nothing (rows that show an age). */
  readonly shared: 'list' | 'items' | 'nothing'
}

/** What sending a list needs of the exchange it answers. */
export interface ListExchange {
  readonly request: { readonly method?: string | undefined }
  /** Sends the whole answer, with its length. */
  sendParts(code: number, parts: readonly Buffer[]): void
  /** Begins an answer of unknown length: `write` each piece, then `endStream`. */
  beginPieces(code: number): void
  /** `false` when the client is gone. */
  write(piece: Buffer): Promise<boolean>
  endStream(): void
}

export interface ListAnswerOptions {
  readonly exchange: ListExchange
  readonly encoded: EncodedObjects
  readonly code: number
  readonly list: ShownList
  readonly turns: Turns | undefined
}

/** The size of a piece, which is also how much of a large answer is in memory at a time. */
export const pieceBytes = 512 * 1024
const comma = Buffer.from(',')
const end = Buffer.from(']}\n')
/** The clock is read once for this many objects. */
const objectsPerLook = 16

/**
 * Sends a list: in one piece with its length if it fits; otherwise piece by piece, each encoded in a turn of its own,
 * and only when the client has taken the one before. All objects are of one version, however long it takes.
 */
export async function sendList({ exchange, encoded, code, list, turns }: ListAnswerOptions): Promise<void> {
  const head = Buffer.from(JSON.stringify(list.frame).slice(0, -2))
  const isShared = list.shared === 'list'
  const known = isShared ? encoded.list(list.objects) : undefined
  if (known) return exchange.sendParts(code, [head, known])
  const pieces = new ListPieces(list, encoded)
  const gathered = isShared ? encoded.gatherList(list.objects) : undefined
  const next = () => {
    const piece = pieces.next(turns)
    gathered?.add(piece)
    if (pieces.isDone) gathered?.keep()
    return piece
  }
  const first = next()
  if (pieces.isDone) return exchange.sendParts(code, [head, first])
  try {
    exchange.beginPieces(code)
    if (exchange.request.method === 'HEAD') return exchange.endStream()
    if (!(await exchange.write(Buffer.concat([head, first])))) return
    while (!pieces.isDone) {
      await turns?.next()
      if (!(await exchange.write(next()))) return
    }
    exchange.endStream()
  } finally {
    gathered?.drop()
  }
}

/**
 * The bytes of single items are kept for other clients only up to this many items: beyond, they would not be found
 * again.
 */
const mostKeptItems = 5_000

/** The items of a list and its end, in pieces that fit one turn and one buffer. */
class ListPieces {
  readonly #list: ShownList
  readonly #encoded: EncodedObjects
  #at = 0

  constructor(list: ShownList, encoded: EncodedObjects) {
    this.#list = list
    this.#encoded = encoded
  }

  get isDone(): boolean {
    return this.#at >= this.#list.objects.length
  }

  next(turns: Turns | undefined): Buffer {
    return this.#areKept ? this.#joinBytes(turns) : this.#joinTexts(turns)
  }

  get #areKept(): boolean {
    const { shared, objects } = this.#list
    return shared !== 'nothing' && objects.length <= mostKeptItems
  }

  #joinBytes(turns: Turns | undefined): Buffer {
    const parts: Buffer[] = []
    this.#each(turns, (shown) => {
      if (this.#at > 0) parts.push(comma)
      const bytes = this.#encoded.bytes(shown)
      parts.push(bytes)
      return bytes.length
    })
    if (this.isDone) parts.push(end)
    return Buffer.concat(parts)
  }

  #joinTexts(turns: Turns | undefined): Buffer {
    let text = ''
    this.#each(turns, (shown) => {
      const json = JSON.stringify(shown)
      text += this.#at > 0 ? `,${json}` : json
      return json.length
    })
    return Buffer.from(this.isDone ? `${text}]}\n` : text)
  }

  #each(turns: Turns | undefined, add: (shown: object) => number): void {
    const { objects, show } = this.#list
    let size = 0
    for (let object = objects[this.#at]; object; object = objects[this.#at]) {
      size += add(show(object))
      this.#at += 1
      if (size >= pieceBytes || (this.#at % objectsPerLook === 0 && turns?.isOver)) break
    }
  }
}
