const [lineEnd, space, colon, brace] = [10, 32, 58, 123]
const [letterD, letterA, letterT] = [100, 97, 116]

/**
 * How many events with an object begin in this piece of a stream; each is a token, or a few. Text within an event has
 * no line breaks of its own. One that is cut just at its beginning is missed. Called for every piece of every stream:
 * most are one event, whose line is looked at once.
 */
export function countEvents(piece: Buffer): number {
  let count = 0
  for (let line = 0; line < piece.length;) {
    if (beginsObject(piece, line)) count++
    const end = piece.indexOf(lineEnd, line)
    // Behind the last event there is only its empty line.
    if (end === -1 || end >= piece.length - 2) break
    line = end + 1
  }
  return count
}

/** Whether the line is `data:` and an object. */
function beginsObject(piece: Buffer, line: number): boolean {
  if (piece[line] !== letterD || piece[line + 1] !== letterA || piece[line + 2] !== letterT) return false
  if (piece[line + 3] !== letterA || piece[line + 4] !== colon) return false
  return piece[piece[line + 5] === space ? line + 6 : line + 5] === brace
}
