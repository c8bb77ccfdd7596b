/** The tokens that an engine reports for a request. */
export interface TokenUsage {
  readonly promptTokens: number
  readonly completionTokens: number
}

/** How many last bytes are kept: enough for `usage`, which ends an answer or is in its last event before `[DONE]`. */
const tailBytes = 3_072
const heldBytes = 2 * tailBytes

/**
 * Keeps the last bytes of an answer while it passes to the client, and reads the token counts from them. An answer in
 * one piece is not copied.
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

  /** `undefined` if the engine reported nothing understandable. */
  read(): TokenUsage | undefined {
    const only = this.#only
    if (only) return readTail(only, Math.max(0, only.length - tailBytes), only.length)
    return this.#held && readTail(this.#held, 0, this.#length)
  }

  /** Most answers are one small piece: its copy is no larger than needed. */
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

function readTail(bytes: Buffer, start: number, end: number): TokenUsage | undefined {
  return findUsage(bytes, start, end) ?? findComment(bytes, start, end)
}

const commentStart = Buffer.from('\n: ')
const comment = /^\n: (\d{1,15}) prompt tokens, (\d{1,15}) completion tokens\n/

/** What `sluice serve` says just before the end of a stream whose client has not asked for `usage`. */
function findComment(bytes: Buffer, start: number, end: number): TokenUsage | undefined {
  if (end < commentStart.length) return undefined
  const at = bytes.lastIndexOf(commentStart, end - commentStart.length)
  if (at < start) return undefined
  const [found, prompt, completion] = comment.exec(bytes.toString('latin1', at, Math.min(end, at + 100))) ?? []
  return found === undefined ? undefined : { promptTokens: Number(prompt), completionTokens: Number(completion) }
}

/**
 * Finds the last `usage` that is an object: earlier events have `null`. Quotes inside an answer's text are escaped, so
 * they cannot match.
 */
function findUsage(bytes: Buffer, start: number, end: number): TokenUsage | undefined {
  for (let at = lastUsage(bytes, start, end); at >= start; at = lastUsage(bytes, start, at)) {
    const object = /^"usage"\s*:\s*(\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})/.exec(bytes.toString('utf8', at, end))?.[1]
    const usage = object === undefined ? undefined : readUsage(object)
    if (usage) return usage
  }
  return undefined
}

const name = Buffer.from('"usage"')
/** For each byte, how far back the search may jump if the name does not begin at that byte. */
const steps = new Uint8Array(256).fill(name.length)
for (let at = name.length - 1; at > 0; at--) steps[name[at] ?? 0] = at
const [firstByte = 0] = name

/**
 * Where the last occurrence before `end` begins; -1 if there is none. Skips ahead (Boyer-Moore-Horspool), because every
 * answer is searched.
 */
function lastUsage(bytes: Buffer, start: number, end: number): number {
  let at = end - name.length
  while (at >= start) {
    const byte = bytes[at] ?? 0
    if (byte === firstByte && isName(bytes, at)) return at
    at -= steps[byte] ?? 1
  }
  return -1
}

function isName(bytes: Buffer, at: number): boolean {
  for (let index = 1; index < name.length; index++) if (bytes[at + index] !== name[index]) return false
  return true
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
