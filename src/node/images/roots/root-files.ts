import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  ftruncateSync,
  futimesSync,
  lchownSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { ArchiveFault, pathBytes } from '../tar/archive-fault.ts'
import { factsOf } from './root-path.ts'
import type { TarEntry } from '../tar/tar-reader.ts'

/** The highest id that Linux allows; -1 would mean "leave unchanged". */
const highestOwner = 2 ** 32 - 2

/**
 * Makes and removes single files below a root. Paths are absolute with resolved folders, and a link in the last part is
 * never followed. An ordinary user owns everything and can always read and empty a folder.
 */
export class RootFiles {
  readonly #asRoot: boolean
  /** How many entries could not be given their owner. */
  otherOwners = 0

  constructor(asRoot: boolean) {
    this.#asRoot = asRoot
  }

  makeFolder(path: string): void {
    const bytes = pathBytes(path)
    mkdirSync(bytes, { mode: 0o700 })
    chmodSync(bytes, 0o755)
  }

  describeFolder(path: string, entry: TarEntry): void {
    const bytes = pathBytes(path)
    if (this.#mayOwn(entry)) chownSync(bytes, entry.uid, entry.gid)
    chmodSync(bytes, this.#asRoot ? entry.mode : entry.mode | 0o700)
  }

  async writeFile(path: string, entry: TarEntry, signal: AbortSignal): Promise<void> {
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
    const file = openSync(pathBytes(path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    try {
      await fill(file, entry, signal)
      // The owner first: changing it clears the setuid bit.
      if (this.#mayOwn(entry)) fchownSync(file, entry.uid, entry.gid)
      fchmodSync(file, entry.mode)
      futimesSync(file, ...times(entry.mtimeSeconds))
    } finally {
      closeSync(file)
    }
  }

  makeSymlink(path: string, entry: TarEntry): void {
    const bytes = pathBytes(path)
    symlinkSync(pathBytes(entry.linkName), bytes)
    if (this.#mayOwn(entry)) lchownSync(bytes, entry.uid, entry.gid)
    lutimesSync(bytes, ...times(entry.mtimeSeconds))
  }

  makeLink(path: string, target: string): void {
    linkSync(pathBytes(target), pathBytes(path))
  }

  #mayOwn({ uid, gid }: TarEntry): boolean {
    if (uid > highestOwner || gid > highestOwner) throw new ArchiveFault('its owner is none that a machine can have')
    if (!this.#asRoot && (uid !== process.getuid?.() || gid !== process.getgid?.())) this.otherOwners += 1
    return this.#asRoot
  }
}

export function isFolderItself(path: string): boolean {
  return factsOf(path)?.isDirectory() ?? false
}

export function isThere(path: string): boolean {
  return factsOf(path) !== undefined
}

export function namesIn(folder: string): string[] {
  return readdirSync(pathBytes(folder), { encoding: 'buffer' }).map((name) => name.toString('latin1'))
}

export function setFolderTime(path: string, seconds: number): void {
  utimesSync(pathBytes(path), ...times(seconds))
}

/** Removes a file or a whole folder; a link is removed, not followed. */
export function removeTree(path: string): void {
  const found = factsOf(path)
  if (!found) return
  if (!found.isDirectory()) {
    unlinkSync(pathBytes(path))
    return
  }
  for (const name of namesIn(path)) removeTree(`${path}/${name}`)
  rmdirSync(pathBytes(path))
}

/** The same for large folders, with turns for others on the event loop. */
export async function removeTreeInTurns(path: string): Promise<void> {
  let sinceTurn = 0
  const removeBelow = async (folder: string): Promise<void> => {
    for (const name of namesIn(folder)) {
      const inside = `${folder}/${name}`
      sinceTurn += 1
      if (sinceTurn % 100 === 0) await setImmediate()
      if (isFolderItself(inside)) await removeBelow(inside)
      else unlinkSync(pathBytes(inside))
    }
    rmdirSync(pathBytes(folder))
  }
  if (isFolderItself(path)) await removeBelow(path)
}

/** File systems cannot store times after the year 2446. */
function times(seconds: number): [number, number] {
  const within = Math.min(seconds, 2 ** 33)
  return [within, within]
}

async function fill(file: number, entry: TarEntry, signal: AbortSignal): Promise<void> {
  const [first] = entry.extents
  if (first === undefined || entry.extents.length > 1 || first.length !== entry.size) ftruncateSync(file, entry.size)
  let index = 0
  let within = 0
  for await (const piece of entry.content()) {
    signal.throwIfAborted()
    for (let at = 0; at < piece.length;) {
      const extent = entry.extents[index]
      // The extents were checked to match the stored size.
      if (extent === undefined) return
      const count = writeSync(
        file,
        piece,
        at,
        Math.min(piece.length - at, extent.length - within),
        extent.offset + within,
      )
      at += count
      within += count
      while (within === entry.extents[index]?.length) {
        index += 1
        within = 0
      }
    }
  }
}
