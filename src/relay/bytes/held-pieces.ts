/**
 * What is smaller is copied together with others: the object around a piece takes more than a hundred bytes of its own.
 */
const smallBytes = 1_024
const smallestRoomBytes = 512
const largestRoomBytes = 16_384

/**
 * Pieces that wait for somebody, as they came. Whatever their sizes are, they take little more memory than their bytes.
 */
export class HeldPieces {
  readonly pieces: Buffer[] = []
  bytes = 0
  /** Where small pieces go, one behind the other. */
  #room: Buffer | undefined
  #usedBytes = 0
  /** Where the last piece begins in the room; -1 when it is not there. */
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
      // Many begin and never come far: the room grows with what there is.
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
