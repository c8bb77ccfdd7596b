/** The beginning of a text, at most `count` bytes of UTF-8, without a broken character at its end. */
export function firstBytes(text: string, count: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= count) return text
  let end = count
  while (end > 0 && isInside(bytes[end])) end -= 1
  return bytes.subarray(0, end).toString()
}

/** The end of a text, at most `count` bytes of UTF-8, without a broken character at its beginning. */
export function lastBytes(text: string, count: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= count) return text
  return wholeFrom(bytes.subarray(bytes.length - count)).toString()
}

/** Drops the rest of a character whose beginning was cut off. */
export function wholeFrom(bytes: Buffer): Buffer {
  let begin = 0
  while (begin < 3 && isInside(bytes[begin])) begin += 1
  return bytes.subarray(begin)
}

function isInside(byte = 0): boolean {
  return (byte & 0xc0) === 0x80
}
