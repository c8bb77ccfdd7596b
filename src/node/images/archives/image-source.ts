import { type FileHandle, open, readFile, stat } from 'node:fs/promises'
import { join, normalize } from 'node:path/posix'
import { ArchiveFault, shownPath } from '../tar/archive-fault.ts'
import { FileSource, filePart } from '../tar/byte-source.ts'
import { readTar } from '../tar/tar-reader.ts'

/** The files of an image: those in an archive, or in a folder with an OCI layout. */
export interface ImageSource {
  /** A file's size; `undefined` if it does not exist. */
  size(path: string): Promise<number | undefined>
  /** A small file as a whole. */
  document(path: string): Promise<Buffer | undefined>
  /** A file of any size, read from its beginning. */
  pieces(path: string): AsyncIterable<Buffer>
  close(): Promise<void>
}

const longestDocument = 8 * 1024 * 1024
const mostMembers = 100_000

interface Member {
  readonly start: number
  readonly size: number
}

/** A tar archive, read in place: its members are found by their headers and never unpacked to disk. */
export class ArchiveSource implements ImageSource {
  readonly #file: FileHandle
  readonly #members: ReadonlyMap<string, Member>

  private constructor(file: FileHandle, members: ReadonlyMap<string, Member>) {
    this.#file = file
    this.#members = members
  }

  static async open(path: string, signal: AbortSignal): Promise<ArchiveSource> {
    const file = await open(path, 'r')
    try {
      return new ArchiveSource(file, await findMembers(file, signal))
    } catch (error) {
      await file.close()
      throw error
    }
  }

  size(path: string): Promise<number | undefined> {
    return Promise.resolve(this.#members.get(path)?.size)
  }

  async document(path: string): Promise<Buffer | undefined> {
    const member = this.#members.get(path)
    if (!member) return undefined
    requireShort(path, member.size)
    const parts: Buffer[] = []
    for await (const piece of this.pieces(path)) parts.push(piece)
    return Buffer.concat(parts)
  }

  pieces(path: string): AsyncIterable<Buffer> {
    const member = this.#members.get(path)
    if (!member) throw missing(path)
    return filePart(this.#file, member.start, member.start + member.size)
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

async function findMembers(file: FileHandle, signal: AbortSignal): Promise<ReadonlyMap<string, Member>> {
  const { size } = await file.stat()
  const members = new Map<string, Member>()
  const links = new Map<string, string>()
  let count = 0
  for await (const entry of readTar(new FileSource(file, size))) {
    signal.throwIfAborted()
    count += 1
    if (count > mostMembers) throw new ArchiveFault(`it has more than ${mostMembers} entries`)
    const name = memberName(entry.name)
    if (entry.type === 'file') {
      if (entry.extents.length !== 1 || entry.extents[0]?.length !== entry.size) {
        throw new ArchiveFault(`its entry ${shownPath(entry.name)} is a sparse file`)
      }
      members.set(name, { start: entry.start, size: entry.size })
    }
    // docker writes a layer that occurs twice as a link to the first.
    if (entry.type === 'symlink') links.set(name, memberName(join(name, '..', entry.linkName)))
    if (entry.type === 'link') links.set(name, memberName(entry.linkName))
  }
  for (const [name, target] of links) {
    const member = members.get(target)
    if (member && !members.has(name)) members.set(name, member)
  }
  return members
}

/** Only compared with names in documents; never opened as a path. */
function memberName(name: string): string {
  return normalize(`/${name}`).slice(1)
}

/** An OCI layout in a folder. Links in it are followed: whoever names the folder is trusted. */
export class FolderSource implements ImageSource {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async size(path: string): Promise<number | undefined> {
    try {
      const facts = await stat(this.#at(path))
      return facts.isFile() ? facts.size : undefined
    } catch {
      return undefined
    }
  }

  async document(path: string): Promise<Buffer | undefined> {
    const size = await this.size(path)
    if (size === undefined) return undefined
    requireShort(path, size)
    return readFile(this.#at(path))
  }

  async *pieces(path: string): AsyncGenerator<Buffer, void, undefined> {
    const size = await this.size(path)
    if (size === undefined) throw missing(path)
    const file = await open(this.#at(path), 'r')
    try {
      yield* filePart(file, 0, size)
    } finally {
      await file.close()
    }
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  #at(path: string): string {
    return join(this.#folder, normalize(`/${path}`))
  }
}

function requireShort(path: string, size: number): void {
  if (size > longestDocument) throw new ArchiveFault(`${shownPath(path)} is larger than ${longestDocument} bytes`)
}

function missing(path: string): ArchiveFault {
  return new ArchiveFault(`it lacks ${shownPath(path)}`)
}
