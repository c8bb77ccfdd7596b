import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { errorMessage } from '../../foundation/errors.ts'

/** What of a folder goes into an archive: paths inside it. */
export interface ArchivePart {
  readonly folder: string
  readonly names: readonly string[]
}

export interface ArchiveResult {
  /** What the program said; with `isWhole`, of files that changed while they were read. */
  readonly said: string
  readonly isWhole: boolean
}

/** By tar's exit codes: files changed while they were read. */
const someDiffer = 1
const longestWords = 4_096

/** Compressed if its name says so. */
export function writeArchive(file: string, parts: readonly ArchivePart[]): Promise<ArchiveResult> {
  const content = parts.flatMap(({ folder, names }) => (names.length > 0 ? ['-C', folder, ...names] : []))
  const compressed = /gz(\.\w+)?$/.test(file) ? ['-z'] : []
  return tar(['-c', ...compressed, '-f', file, ...content])
}

/** Names that lead out of the folder are not followed. */
export function readArchive(file: string, folder: string): Promise<ArchiveResult> {
  return tar(['-x', '-f', file, '-C', folder])
}

/** Files of programs can be anything that a file system has; the program for that is on every Linux. */
async function tar(words: readonly string[]): Promise<ArchiveResult> {
  const child = spawn('tar', words, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-longestWords)))
  try {
    const [code] = await once(child, 'close')
    return { said: said.trim().replaceAll('\n', '; '), isWhole: code === 0 || code === someDiffer }
  } catch (error) {
    return { said: `tar cannot be started: ${errorMessage(error)}`, isWhole: false }
  }
}
