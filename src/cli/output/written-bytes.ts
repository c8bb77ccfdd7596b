import { readFileSync } from 'node:fs'
import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import { type LineOutput, StatusLine } from './status-line.ts'

const lookAfterMs = 500
const worthSayingBytes = 50e6

/** What a process has written to files and pipes so far, as the kernel counts it. */
function bytesWritten(): number {
  const [, bytes] = /^wchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8')) ?? []
  return Number(bytes ?? 0)
}

/**
 * Says at a terminal how much this program has written, for work whose end nobody knows beforehand. Returns what ends
 * it.
 */
export function tellWrittenBytes(
  what: string,
  clock: Clock,
  output: LineOutput = process.stderr,
  written: () => number = bytesWritten,
): CancelTimer {
  // In a pipe these lines would say nothing that a program wants to know.
  if (output.isTTY !== true) return () => {}
  const line = new StatusLine(output)
  const before = written()
  const look = () => {
    cancel = clock.after(lookAfterMs, look)
    const bytes = written() - before
    if (bytes >= worthSayingBytes) line.say(`${what}: ${Math.floor(bytes / 1e6)} MB written`)
  }
  let cancel = clock.after(lookAfterMs, look)
  return () => {
    cancel()
    line.clear()
  }
}
