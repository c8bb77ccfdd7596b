/** What an engine says a request took. */
export interface TokenUsage {
  readonly promptTokens: number
  readonly completionTokens: number
}

/** `usage` stands at the end of an answer, or in the last event before `[DONE]`: this much holds it with its details. */
const tailBytes = 3_072
const heldBytes = 2 * tailBytes

/**
 * Keeps the last bytes of an answer on its way to the client and reads the token counts from them. An answer of one piece is
 * not copied; of more, only their last bytes are kept.
 */
export class UsageTail {
  #only: Buffer | undefined
  #held: Buffer | undefined
  #length = 0

  push(piece: Buffer): void {
    const first = this.#only
    if (!first && !this.#held) {
      this.#only = piece
      return
    }
    this.#only = undefined
    if (first) this.#keep(first)
    this.#keep(piece)
  }

  #keep(piece: Buffer): void {
    const tail = piece.length > tailBytes ? piece.subarray(piece.length - tailBytes) : piece
    const held = this.#room(tail.length)
    tail.copy(held, this.#length)
    this.#length += tail.length
  }

  /** `undefined` where the engine says nothing that is understood. */
  read(): TokenUsage | undefined {
    const only = this.#only
    if (only) return findUsage(only, Math.max(0, only.length - tailBytes), only.length)
    return this.#held && findUsage(this.#held, 0, this.#length)
  }

  /** Most answers are one small piece: they get no more than they need. */
  #room(bytes: number): Buffer {
    this.#held ??= Buffer.allocUnsafe(Math.max(bytes, 512))
    if (this.#length + bytes <= this.#held.length) return this.#held
    if (this.#held.length < heldBytes) {
      const larger = Buffer.allocUnsafe(heldBytes)
      this.#held.copy(larger, 0, 0, this.#length)
      this.#held = larger
    }
    if (this.#length + bytes > this.#held.length) {
      const kept = Math.min(this.#length, tailBytes)
      this.#held.copyWithin(0, this.#length - kept, this.#length)
      this.#length = kept
    }
    return this.#held
  }
}

const name = '"usage"'
/** Is searched for several times as fast as the whole name: short texts are, and those that do not begin with what is everywhere. */
const partOfName = 'usage"'

/** The last `usage` that is an object: events before the last have `null`. Text inside an answer has its quotes escaped. */
function findUsage(bytes: Buffer, start: number, end: number): TokenUsage | undefined {
  const text = bytes.toString('latin1', start, end)
  if (!text.includes(partOfName)) return undefined
  for (let at = text.lastIndexOf(name); at >= 0; at = at > 0 ? text.lastIndexOf(name, at - 1) : -1) {
    const object = /^"usage"\s*:\s*(\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})/.exec(text.slice(at))?.[1]
    const usage = object === undefined ? undefined : readUsage(object)
    if (usage) return usage
  }
  return undefined
}

function readUsage(text: string): TokenUsage | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const count = (name: string): number | undefined => {
    const field: unknown = Reflect.get(value, name)
    return Number.isSafeInteger(field) && Number(field) >= 0 ? Number(field) : undefined
  }
  // Transcriptions count `input_tokens` and `output_tokens`; embeddings complete nothing.
  const promptTokens = count('prompt_tokens') ?? count('input_tokens')
  const completionTokens = count('completion_tokens') ?? count('output_tokens')
  if (promptTokens === undefined && completionTokens === undefined) return undefined
  return { promptTokens: promptTokens ?? 0, completionTokens: completionTokens ?? 0 }
}
