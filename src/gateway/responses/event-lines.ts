/** An event longer than this is no part of an answer. */
const longestEventBytes = 4 * 1024 * 1024

const newline = 10

/** Takes the data out of server-sent events that arrive in pieces of any size. */
export class EventLines {
  #held: Buffer[] = []
  #heldBytes = 0

  /** The data of the events whose lines have ended. Engines write an event's data in one line. */
  push(piece: Buffer): string[] {
    const found: string[] = []
    let from = 0
    for (let end = piece.indexOf(newline); end >= 0; end = piece.indexOf(newline, from)) {
      const data = dataOf(this.#line(piece.subarray(from, end)))
      if (data !== undefined) found.push(data)
      from = end + 1
    }
    if (from < piece.length) this.#hold(piece.subarray(from))
    return found
  }

  #line(end: Buffer): string {
    if (this.#heldBytes === 0) return end.toString('utf8')
    this.#hold(end)
    const line = Buffer.concat(this.#held).toString('utf8')
    this.#held = []
    this.#heldBytes = 0
    return line
  }

  #hold(piece: Buffer): void {
    this.#heldBytes += piece.length
    if (this.#heldBytes > longestEventBytes) throw new Error(`an event is longer than ${longestEventBytes} bytes`)
    this.#held.push(piece)
  }
}

function dataOf(line: string): string | undefined {
  if (!line.startsWith('data:')) return undefined
  return line.slice(line[5] === ' ' ? 6 : 5).trimEnd()
}
