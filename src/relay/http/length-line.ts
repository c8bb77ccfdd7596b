import { keptBytes } from '../bytes/put-bytes.ts'

const longestKept = 4_096
const kept: Array<Buffer | undefined> = Array.from({ length: longestKept + 1 })

/**
 * The last field of a head, the content length, and the head's end. Remembers the lines for lengths up to 4 KiB as
 * bytes, because most bodies are short and every head has one.
 */
export function lengthAtEnd(length: number): Buffer {
  if (length > longestKept) return Buffer.from(linesFor(length))
  return (kept[length] ??= keptBytes(linesFor(length)))
}

function linesFor(length: number): string {
  return `content-length: ${length}\r\n\r\n`
}
