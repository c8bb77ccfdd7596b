import { dirname } from 'node:path/posix'
import { ArchiveFault, shownPath } from '../tar/archive-fault.ts'
import { type RootFiles, isFolderItself, isThere, namesIn, removeTree, setFolderTime } from './root-files.ts'
import { isFolderBelow, resolveInside, segmentsOf } from './root-path.ts'
import type { TarEntry } from '../tar/tar-reader.ts'
import type { UnpackBudget } from '../tar/unpack-budget.ts'

const whiteout = '.wh.'
const auxiliary = '.wh..wh.'
const opaque = '.wh..wh..opq'

/** Things in a layer that are not carried over. */
export interface LayerNotes {
  devices: number
  fifos: number
  /** Entries with file capabilities (`security.capability`). */
  capabilities: number
}

export interface LayerTarget {
  /** An absolute path without links, one character per byte. Nobody else may write below it. */
  readonly root: string
  readonly files: RootFiles
  readonly budget: UnpackBudget
  readonly notes: LayerNotes
  readonly signal: AbortSignal
}

/** Applies one layer on top of those below: adds and replaces its entries, and removes what its whiteouts name. */
export async function unpackLayer(entries: AsyncIterable<TarEntry>, target: LayerTarget): Promise<void> {
  const layer = new LayerUnpacking(target)
  for await (const entry of entries) {
    target.signal.throwIfAborted()
    try {
      await layer.apply(entry)
    } catch (error) {
      throw asFault(error, entry)
    }
  }
  layer.finish()
}

class LayerUnpacking {
  readonly #target: LayerTarget
  /** Paths of this layer and their parent folders: a whiteout only removes what is from layers below. */
  readonly #own = new Set<string>()
  readonly #emptied = new Set<string>()
  readonly #folderTimes = new Map<string, number>()

  constructor(target: LayerTarget) {
    this.#target = target
    this.#own.add(target.root)
  }

  async apply(entry: TarEntry): Promise<void> {
    const { root, budget } = this.#target
    budget.takeEntry()
    const segments = segmentsOf(entry.name)
    const last = segments.at(-1)
    if (last === undefined) {
      if (entry.type !== 'directory') throw new ArchiveFault('the root is not a folder')
      this.#describe(root, entry)
      return
    }
    const above = segments.slice(0, -1)
    if (segments.some((segment) => segment.startsWith(auxiliary)) && last !== opaque) return
    if (above.some((segment) => segment.startsWith(whiteout)))
      throw new ArchiveFault('it is inside something that is gone')
    const folder = resolveInside(root, above)
    if (last.startsWith(whiteout)) {
      this.#takeAway(folder, last)
      return
    }
    await this.#put(folder, `${folder}/${last}`, entry)
  }

  /**
   * Sets times of folders at the end, since making files in a folder changes its time. By then a link may have taken
   * the place of a folder on the way; such paths could lead out of the root and are skipped.
   */
  finish(): void {
    const { root } = this.#target
    for (const [path, seconds] of this.#folderTimes) {
      if (isFolderBelow(root, path)) setFolderTime(path, seconds)
    }
  }

  async #put(folder: string, path: string, entry: TarEntry): Promise<void> {
    const { files, budget, notes, signal } = this.#target
    if (entry.type === 'device' || entry.type === 'fifo') {
      if (entry.type === 'device') notes.devices += 1
      else notes.fifos += 1
      return
    }
    if (entry.attributes.includes('security.capability')) notes.capabilities += 1
    const source = entry.type === 'link' ? this.#linkSource(entry) : ''
    this.#makeFolders(folder)
    const keeps = entry.type === 'directory' && isFolderItself(path)
    if (!keeps) removeTree(path)
    switch (entry.type) {
      case 'directory':
        if (!keeps) files.makeFolder(path)
        this.#describe(path, entry)
        break
      case 'symlink':
        if (entry.linkName === '' || entry.linkName.includes('\0')) throw new ArchiveFault('it is a link to nowhere')
        files.makeSymlink(path, entry)
        break
      case 'link':
        // The entry itself may just have replaced it.
        if (!isThere(source)) throw noSuchFile(entry)
        files.makeLink(path, source)
        break
      case 'file':
        // The stored bytes were counted as they were read; this adds the holes.
        budget.takeBytes(entry.size - entry.extents.reduce((sum, { length }) => sum + length, 0))
        await files.writeFile(path, entry, signal)
        break
    }
    this.#own.add(path)
  }

  /** The target of a hard link must exist inside the root, and must not itself be a symbolic link that is followed. */
  #linkSource(entry: TarEntry): string {
    const segments = segmentsOf(entry.linkName)
    const last = segments.at(-1)
    if (last === undefined) throw new ArchiveFault('it is a hard link to the root')
    const source = `${resolveInside(this.#target.root, segments.slice(0, -1))}/${last}`
    if (!isThere(source) || isFolderItself(source)) throw noSuchFile(entry)
    return source
  }

  /** Folders without an entry of their own get default attributes. */
  #makeFolders(folder: string): void {
    if (!isThere(folder)) {
      this.#makeFolders(dirname(folder))
      this.#target.files.makeFolder(folder)
    } else if (!isFolderItself(folder)) throw new ArchiveFault('it is inside something that is not a folder')
    for (let path = folder; !this.#own.has(path); path = dirname(path)) this.#own.add(path)
  }

  #describe(path: string, entry: TarEntry): void {
    this.#target.files.describeFolder(path, entry)
    this.#folderTimes.set(path, entry.mtimeSeconds)
  }

  #takeAway(folder: string, marker: string): void {
    if (marker === opaque) {
      if (isFolderItself(folder)) this.#takeAwayBelow(folder)
      return
    }
    const name = marker.slice(whiteout.length)
    if (name === '' || name === '.' || name === '..') throw new ArchiveFault('it takes away something without a name')
    const path = `${folder}/${name}`
    // If this layer has something there, too, only the content from the layers below is removed.
    if (!this.#own.has(path)) removeTree(path)
    else if (isFolderItself(path)) this.#takeAwayBelow(path)
  }

  #takeAwayBelow(folder: string): void {
    // Once is enough: nothing from the layers below can come back.
    if (this.#emptied.has(folder)) return
    this.#emptied.add(folder)
    for (const name of namesIn(folder)) {
      const path = `${folder}/${name}`
      if (!this.#own.has(path)) removeTree(path)
      else if (isFolderItself(path)) this.#takeAwayBelow(path)
    }
  }
}

function noSuchFile({ linkName }: TarEntry): ArchiveFault {
  return new ArchiveFault(`it is a hard link to ${shownPath(linkName)}, and there is no such file in the image`)
}

function asFault(error: unknown, entry: TarEntry): unknown {
  const { name } = entry
  if (error instanceof ArchiveFault) return new ArchiveFault(`the entry ${shownPath(name)}: ${error.message}`)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const reasons: Record<string, string> = {
    ENAMETOOLONG: 'its path is too long for this machine',
    ENOTDIR: 'it is inside something that is not a folder',
    ENOSPC: 'the disk is full',
    EDQUOT: 'the disk is full',
    EMLINK: 'it has more hard links than this machine allows',
  }
  const reason = reasons[code]
  return reason === undefined ? error : new ArchiveFault(`the entry ${shownPath(name)}: ${reason}`, { cause: error })
}
