/** Smaller pieces are copied together: the object around a piece takes over a hundred bytes itself. */
const smallBytes = 1_024
const smallestRoomBytes = 512
const largestRoomBytes = 16_384

/** Pieces that wait to be used, in order. Whatever their sizes, they take little more memory than their bytes. */
export class HeldPieces {
  readonly pieces: Buffer[] = []
  bytes = 0
  /** The buffer that small pieces are copied to, one after the other. */
  #room: Buffer | undefined
  #usedBytes = 0
  /** Where the last piece begins in the buffer; -1 if it is not in it. */
  #lastAt = -1

  add(piece: Buffer): void {
    if (piece.length >= smallBytes) {
      this.pieces.push(piece)
      this.#lastAt = -1
    } else {
      this.#addSmall(piece)
    }
    this.bytes += piece.length
  }

  #addSmall(piece: Buffer): void {
    let room = this.#room
    if (!room || this.#usedBytes + piece.length > room.length) {
      // Many bodies stay small: the buffer grows with what has come.
      const wanted = Math.max(smallestRoomBytes, piece.length, Math.min(this.bytes, largestRoomBytes))
      room = Buffer.allocUnsafeSlow(wanted)
      this.#room = room
      this.#usedBytes = 0
      this.#lastAt = -1
    }
    room.set(piece, this.#usedBytes)
    const isContinued = this.#lastAt >= 0
    if (!isContinued) this.#lastAt = this.#usedBytes
    this.#usedBytes += piece.length
    const view = room.subarray(this.#lastAt, this.#usedBytes)
    if (isContinued) this.pieces[this.pieces.length - 1] = view
    else this.pieces.push(view)
  }
}
