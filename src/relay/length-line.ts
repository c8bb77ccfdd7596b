const longestKept = 4_096
const kept: Array<Buffer | undefined> = Array.from({ length: longestKept + 1 })

/** The last field of a head, which announces so many bytes, with the head's end. Short bodies are many. */
export function lengthAtEnd(length: number): Buffer {
  if (length > longestKept) return linesFor(length)
  return (kept[length] ??= linesFor(length))
}

function linesFor(length: number): Buffer {
  return Buffer.from(`content-length: ${length}\r\n\r\n`)
}
