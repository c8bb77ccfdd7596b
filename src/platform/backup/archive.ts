import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  createReadStream,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Clock, systemClock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'

/** Told how much of what there is to read was read. */
export type ReadProgress = (bytes: number, totalBytes: number) => void

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

const tellAfterMs = 300
const pieceBytes = 1024 * 1024
/** By tar's exit codes: files changed while they were read. */
const someDiffer = 1
const longestWords = 4_096

/** Compressed if its name says so. */
export function writeArchive(
  file: string,
  parts: readonly ArchivePart[],
  onRead?: ReadProgress,
  clock: Clock = systemClock,
): Promise<ArchiveResult> {
  const content = parts.flatMap(({ folder, names }) => (names.length > 0 ? ['-C', folder, ...names] : []))
  const compressed = /gz(\.\w+)?$/.test(file) ? ['-z'] : []
  return tar(['-c', ...compressed, '-f', file, ...content], ({ pid }) => {
    if (!onRead || pid === undefined) return () => {}
    const seen = new Set<string>()
    const sizes = parts.flatMap(({ folder, names }) => names.map((name) => bytesBelow(join(folder, name), seen)))
    const total = sizes.reduce((sum, bytes) => sum + bytes, 0)
    return followReading(pid, total, onRead, clock)
  })
}

/** Names that lead out of the folder are not followed. */
export function readArchive(file: string, folder: string, onRead?: ReadProgress): Promise<ArchiveResult> {
  const compressed = isCompressed(file) ? ['-z'] : []
  return tar(['-x', ...compressed, '-f', '-', '-C', folder], ({ stdin }) => {
    const total = statSync(file).size
    let bytes = 0
    const source = createReadStream(file, { highWaterMark: pieceBytes })
    source.on('data', ({ length }) => onRead?.((bytes += length), total))
    // It ends early where tar does, which says why.
    if (stdin) pipeline(source, stdin).catch(() => undefined)
    return () => source.destroy()
  })
}

/** By its first bytes: what comes through a pipe, tar does not look at. */
function isCompressed(file: string): boolean {
  const descriptor = openSync(file, 'r')
  try {
    const start = Buffer.alloc(2)
    return readSync(descriptor, start, 0, 2, 0) === 2 && start[0] === 0x1f && start[1] === 0x8b
  } finally {
    closeSync(descriptor)
  }
}

/** Files of programs can be anything that a file system has; the program for that is on every Linux. */
async function tar(words: readonly string[], follow: (child: ChildProcess) => () => void): Promise<ArchiveResult> {
  const child = spawn('tar', words, { stdio: ['pipe', 'ignore', 'pipe'] })
  const unfollow = follow(child)
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-longestWords)))
  try {
    const [code] = await once(child, 'close')
    return { said: said.trim().replaceAll('\n', '; '), isWhole: code === 0 || code === someDiffer }
  } catch (error) {
    return { said: `tar cannot be started: ${errorMessage(error)}`, isWhole: false }
  } finally {
    unfollow()
  }
}

/** Tells now and then what a process has read so far, as the kernel counts it. */
function followReading(pid: number, total: number, onRead: ReadProgress, clock: Clock): () => void {
  let cancel = clock.after(tellAfterMs, look)
  function look(): void {
    cancel = clock.after(tellAfterMs, look)
    try {
      const [, bytes] = /^rchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8')) ?? []
      if (bytes !== undefined) onRead(Math.min(Number(bytes), total), total)
    } catch {
      // It has just ended.
    }
  }
  return () => cancel()
}

/** A file with several names is in an archive once. One that goes meanwhile is not counted. */
function bytesBelow(path: string, seen: Set<string>): number {
  try {
    const facts = lstatSync(path)
    if (facts.isDirectory()) return readdirSync(path).reduce((sum, name) => sum + bytesBelow(join(path, name), seen), 0)
    const file = `${facts.dev} ${facts.ino}`
    if (facts.nlink > 1 && seen.has(file)) return 0
    seen.add(file)
    return facts.size
  } catch {
    return 0
  }
}
