import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { parseRecord } from './log-format.ts'

const longestMessage = 4096
const longestLogPart = 2048
const mostLogLines = 80

/** Where a container that ended says why, and whether its log may speak for it. */
export interface TerminationMessageSource {
  readonly file: string
  readonly fallsBackToLog: boolean
}

/** The last words of a container: what it wrote to its message file, or else, where asked for and it failed, the end of its log. */
export function terminationMessage(
  source: TerminationMessageSource,
  logPath: string,
  exitCode: number,
): string | undefined {
  const written = readStart(source.file)
  if (written !== '') return written
  if (!source.fallsBackToLog || exitCode === 0) return undefined
  const lines = readEnd(logPath, 4 * longestLogPart)
    .split('\n')
    .flatMap((line) => parseRecord(Buffer.from(line, 'latin1'))?.text.toString() ?? [])
  const text = lines.slice(-mostLogLines).join('\n').trimEnd().slice(-longestLogPart)
  return text === '' ? undefined : text
}

function readStart(path: string): string {
  try {
    // A program may have put something else in its place; only a plain file is read.
    if (!statSync(path).isFile()) return ''
    return readFileSync(path, 'utf8').slice(0, longestMessage)
  } catch {
    return ''
  }
}

function readEnd(path: string, bytes: number): string {
  try {
    const file = openSync(path, 'r')
    try {
      const { size } = fstatSync(file)
      const buffer = Buffer.alloc(Math.min(size, bytes))
      readSync(file, buffer, 0, buffer.length, size - buffer.length)
      return buffer.toString('latin1')
    } finally {
      closeSync(file)
    }
  } catch {
    return ''
  }
}
