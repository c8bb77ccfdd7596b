const largest = 999_999_999

/** Writes a number as JSON and HTTP have it, and returns where it ends. Counts and lengths need no text made of them for that. */
export function writeNumber(bytes: Buffer, start: number, value: number): number {
  // `| 0`: what is equal to its 32 bits is a whole number, and -0 is 0.
  if ((value | 0) !== value || value < 0 || value > largest) return start + bytes.write(String(value), start, 'latin1')
  const end = start + countDigits(value)
  let left = value
  for (let at = end - 1; at >= start; at--) {
    const tens = (left / 10) | 0
    bytes[at] = 48 + left - tens * 10
    left = tens
  }
  return end
}

/** More than any number takes. */
export const mostNumberBytes = 25

function countDigits(value: number): number {
  let count = 1
  for (let bound = 10; value >= bound; bound *= 10) count++
  return count
}
