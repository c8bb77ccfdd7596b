export type SseFrame = { kind: 'message'; event: string; data: string } | { kind: 'comment'; text: string }

/**
 * No valid event is longer. A server that sends more without a blank line is broken, and the page must not grow with
 * it.
 */
export const MAX_PENDING_CHARACTERS = 4 * 1024 * 1024

/** Parses server-sent events incrementally. Chunks may end anywhere, even between the CR and LF of one line ending. */
export class SseParser {
  #rest = ''
  #event = ''
  #data: string[] = []
  #dataCharacters = 0
  #atStart = true

  push(chunk: string): SseFrame[] {
    let text = this.#rest + chunk
    if (this.#atStart && text !== '') {
      this.#atStart = false
      if (text.startsWith('\uFEFF')) text = text.slice(1)
    }
    const frames: SseFrame[] = []
    let from = 0
    for (;;) {
      const end = nextLineEnd(text, from)
      if (end === undefined) break
      this.#takeLine(text.slice(from, end.at), frames)
      from = end.next
    }
    this.#rest = text.slice(from)
    this.#enforceBound(this.#rest.length)
    return frames
  }

  /** Ends the stream. A last event without its blank line is incomplete and is dropped, as the standard says. */
  end(): SseFrame[] {
    const frames = this.#rest.endsWith('\r') ? this.push('\n') : []
    this.#rest = ''
    this.#event = ''
    this.#data = []
    return frames
  }

  #takeLine(line: string, frames: SseFrame[]): void {
    if (line === '') {
      if (this.#data.length > 0) {
        frames.push({ kind: 'message', event: this.#event || 'message', data: this.#data.join('\n') })
      }
      this.#event = ''
      this.#data = []
      this.#dataCharacters = 0
      return
    }
    if (line.startsWith(':')) {
      frames.push({ kind: 'comment', text: line.slice(1).trim() })
      return
    }
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'event') this.#event = value
    if (field === 'data') {
      this.#dataCharacters += value.length
      this.#enforceBound(this.#dataCharacters)
      this.#data.push(value)
    }
  }

  #enforceBound(characters: number): void {
    if (characters > MAX_PENDING_CHARACTERS) throw new RangeError('The server sent an event that is too large.')
  }
}

function nextLineEnd(text: string, from: number): { at: number; next: number } | undefined {
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 10) return { at: i, next: i + 1 }
    if (code === 13) {
      // A CR at the very end may be half of a CRLF, so wait for the next chunk.
      if (i + 1 === text.length) return undefined
      return { at: i, next: text.charCodeAt(i + 1) === 10 ? i + 2 : i + 1 }
    }
  }
  return undefined
}
