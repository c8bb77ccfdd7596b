/**
 * Counts how often a mark occurs in the body of a chunked HTTP response, which comes in pieces. A mark may be split
 * between two pieces, and between two chunks of the response: the lines with the chunks' sizes are left out.
 */
export class MarkCounter {
  readonly #mark: Buffer
  /** The end of the body so far: a mark may have begun there. */
  #end: Buffer = Buffer.alloc(0)
  /** How much of the current chunk is still to come; 0 between chunks. */
  #left = 0
  #sizeLine = ''
  count = 0

  constructor(mark: string) {
    this.#mark = Buffer.from(mark)
  }

  /** Takes the next piece of the response, which must begin after its head. */
  add(piece: Buffer): void {
    for (let at = 0; at < piece.length;) {
      if (this.#left > 0) {
        const body = piece.subarray(at, at + this.#left)
        this.#look(body)
        this.#left -= body.length
        at += body.length
      } else at = this.#readSize(piece, at)
    }
  }

  #readSize(piece: Buffer, at: number): number {
    const lineEnd = piece.indexOf('\n', at)
    this.#sizeLine += piece.toString('latin1', at, lineEnd < 0 ? piece.length : lineEnd)
    if (lineEnd < 0) return piece.length
    // The line end after a chunk is an empty line here.
    this.#left = Number.parseInt(this.#sizeLine, 16) || 0
    this.#sizeLine = ''
    return lineEnd + 1
  }

  #look(body: Buffer): void {
    const mark = this.#mark
    const keep = mark.length - 1
    // Shorter than the mark on both sides, so only a mark that is split is found here.
    const seam = Buffer.concat([this.#end, body.subarray(0, keep)])
    if (seam.includes(mark)) this.count += 1
    for (let at = body.indexOf(mark); at >= 0; at = body.indexOf(mark, at + mark.length)) this.count += 1
    this.#end = Buffer.from((body.length >= keep ? body : seam).subarray(-keep))
  }
}
