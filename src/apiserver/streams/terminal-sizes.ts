import type { Readable } from 'node:stream'
import { z } from 'zod'

export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

const largestSize = 65_535
const sizeSchema = z.object({
  Width: z.number().int().min(1).max(largestSize),
  Height: z.number().int().min(1).max(largestSize),
})
const longestUnread = 1_024

/**
 * The sizes that a client sends, each a JSON object. Anything else is ignored: a terminal of the wrong size still
 * works.
 */
export async function* terminalSizes(stream: Readable): AsyncGenerator<TerminalSize> {
  let unread = ''
  // A stream that breaks off has simply sent its last size.
  const chunks = stream.iterator({ destroyOnReturn: false })
  for (;;) {
    const next = await chunks.next().catch(() => ({ done: true as const, value: undefined }))
    if (next.done) return
    unread = (unread + String(next.value)).slice(-longestUnread)
    for (let end = unread.indexOf('}'); end >= 0; end = unread.indexOf('}')) {
      const size = readSize(unread.slice(0, end + 1))
      unread = unread.slice(end + 1)
      if (size) yield size
    }
  }
}

function readSize(text: string): TerminalSize | undefined {
  try {
    const { success, data } = sizeSchema.safeParse(JSON.parse(text))
    return success ? { columns: data.Width, rows: data.Height } : undefined
  } catch {
    return undefined
  }
}
