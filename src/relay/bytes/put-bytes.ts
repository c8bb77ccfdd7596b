const largestNumber = 999_999_999
/** At least as long as any number. */
export const mostNumberBytes = 25

const longestByHand = 32

// What is put together tens of thousands of times a second is a few letters at a time, and a call of the system's
// copying takes longer than these.

/** A string as bytes that are kept for long. Not from Node's pool: a few bytes of that would keep all of it alive. */
export function keptBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text, 'latin1'))
  bytes.write(text, 'latin1')
  return bytes
}

/** Copies bytes to where there is room; returns where they end. */
export function putBytes(into: Buffer, at: number, bytes: Buffer): number {
  const { length } = bytes
  if (length > longestByHand) into.set(bytes, at)
  else for (let index = 0; index < length; index++) into[at + index] = bytes[index] ?? 0
  return at + length
}

/** Writes a string as UTF-8; there has to be room for three bytes per character. */
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

/** Writes a number as JSON and HTTP have it, without making a string. */
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
