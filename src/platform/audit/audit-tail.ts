import { open } from 'node:fs/promises'
import { type AuditLine, parseAuditLine } from './audit-line.ts'

/** So much of the end of the file is looked at. */
const tailBytes = 512 * 1024
const mostLines = 300

/** The newest lines of an audit log, newest first. `sluice audit` searches all of it. */
export async function auditTail(path: string): Promise<readonly AuditLine[]> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const from = Math.max(0, size - tailBytes)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from)
    const lines = buffer.toString('utf8', 0, bytesRead).split('\n')
    // The first one is cut off, unless it is the first of the file.
    const newest = lines.slice(from === 0 ? 0 : 1).flatMap((line) => {
      const parsed = parseAuditLine(line)
      return parsed === undefined || 'missing' in parsed ? [] : [parsed]
    })
    return newest.slice(-mostLines).toReversed()
  } finally {
    await file.close()
  }
}
