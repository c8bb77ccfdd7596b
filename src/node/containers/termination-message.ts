import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { lastBytes, wholeFrom } from './cut-text.ts'
import { parseRecord } from '../logs/log-format.ts'

export const longestMessage = 4096
const longestLogPart = 2048
const mostLogLines = 80

/** Where to find a container's termination message, and whether its log may stand in for it. */
export interface TerminationMessageSource {
  readonly file: string
  readonly fallsBackToLog: boolean
}

/**
 * The termination message: what the container wrote to its message file or else, if it failed and asked for that, the
 * end of its log.
 */
export async function terminationMessage(
  source: TerminationMessageSource,
  logPath: string,
  exitCode: number,
): Promise<string | undefined> {
  const written = await readEnd(source.file, longestMessage)
  if (written.length > 0) return written.toString()
  if (!source.fallsBackToLog || exitCode === 0) return undefined
  const text = await endOfLog(logPath)
  return text === '' ? undefined : text
}

/** The end of a log, as much as the kubelet takes for a termination message. */
export async function endOfLog(logPath: string): Promise<string> {
  const lines = (await readEnd(logPath, 4 * longestLogPart))
    .toString('latin1')
    .split('\n')
    .flatMap((line) => parseRecord(Buffer.from(line, 'latin1'))?.text.toString() ?? [])
  return lastBytes(lines.slice(-mostLogLines).join('\n').trimEnd(), longestLogPart)
}

/**
 * Reads the end of a file of any size. The program may have replaced it, so only a plain file is read, no link is
 * followed, and opening never blocks.
 */
async function readEnd(path: string, bytes: number): Promise<Buffer> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stat = await file.stat()
    if (!stat.isFile()) return Buffer.alloc(0)
    const wanted = Math.min(stat.size, bytes)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(wanted), 0, wanted, stat.size - wanted)
    const text = buffer.subarray(0, bytesRead)
    return stat.size > wanted ? wholeFrom(text) : text
  } catch {
    return Buffer.alloc(0)
  }
}
