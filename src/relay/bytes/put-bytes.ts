const largestNumber = 999_999_999
/** More than any number takes. */
export const mostNumberBytes = 25

const longestByHand = 32

// What is put together tens of thousands of times a second is a few letters at a time, and a call of the system's
// copying takes longer than these.

/** A text as bytes that are kept. Not from Node's pool: a few bytes of that would keep all of it. */
export function keptBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text, 'latin1'))
  bytes.write(text, 'latin1')
  return bytes
}

/** Puts some bytes where there is room for them, and returns where they end. */
export function putBytes(into: Buffer, at: number, bytes: Buffer): number {
  const { length } = bytes
  if (length > longestByHand) into.set(bytes, at)
  else for (let index = 0; index < length; index++) into[at + index] = bytes[index] ?? 0
  return at + length
}

/** A text as UTF-8, for which there is room for three bytes a character. */
export function putText(into: Buffer, at: number, text: string): number {
  const { length } = text
  if (length <= longestByHand) {
    let index = 0
    for (let code = 0; index < length; index++) {
      code = text.charCodeAt(index)
      if (code > 127) break
      into[at + index] = code
    }
    if (index === length) return at + length
  }
  return at + into.write(text, at)
}

/** A number as JSON and HTTP have it. Counts and lengths need no text made of them for that. */
export function putNumber(into: Buffer, start: number, value: number): number {
  // `| 0`: what is equal to its 32 bits is a whole number, and -0 is 0.
  if ((value | 0) !== value || value < 0 || value > largestNumber) {
    return start + into.write(String(value), start, 'latin1')
  }
  const end = start + countDigits(value)
  let left = value
  for (let at = end - 1; at >= start; at--) {
    const tens = (left / 10) | 0
    into[at] = 48 + left - tens * 10
    left = tens
  }
  return end
}

function countDigits(value: number): number {
  let count = 1
  for (let bound = 10; value >= bound; bound *= 10) count++
  return count
}
