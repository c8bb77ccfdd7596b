import { keptBytes } from '../bytes/put-bytes.ts'

const longestKept = 4_096
const kept: Array<Buffer | undefined> = Array.from({ length: longestKept + 1 })

/**
 * The last field of a head, which announces so many bytes, with the head's end. Those for up to 4 KiB are remembered as
 * bytes: short bodies are many, and it stands in every head.
 */
export function lengthAtEnd(length: number): Buffer {
  if (length > longestKept) return Buffer.from(linesFor(length))
  return (kept[length] ??= keptBytes(linesFor(length)))
}

function linesFor(length: number): string {
  return `content-length: ${length}\r\n\r\n`
}
