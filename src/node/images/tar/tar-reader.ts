import { ArchiveFault } from './archive-fault.ts'
import type { ByteSource } from './byte-source.ts'
import { type PaxRecords, readPaxRecords, wholeNumber } from './pax-records.ts'
import { type Extent, type SparseMap, readGnuSparse, readPaxSparse } from './sparse-map.ts'
import { type TarHeader, blockBytes, readTarHeader } from './tar-header.ts'

export type TarEntryType = 'file' | 'directory' | 'symlink' | 'link' | 'device' | 'fifo'

/** One entry of an archive. Names have one character per byte. */
export interface TarEntry {
  readonly type: TarEntryType
  readonly name: string
  readonly linkName: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly mtimeSeconds: number
  /** The file's length, including holes. */
  readonly size: number
  /** Where its bytes go; a single extent unless the file is sparse. */
  readonly extents: readonly Extent[]
  /** Names of extended attributes. */
  readonly attributes: readonly string[]
  /** The position of its bytes in the archive. */
  readonly start: number
  /** Its bytes; can be read until the next entry is asked for. */
  content(): AsyncGenerator<Buffer, void, undefined>
}

/** Go's limit; most images are written with Go. */
const longestSpecialBytes = 1024 * 1024
const pieceBytes = 1024 * 1024

/**
 * Reads an archive entry by entry as Go's archive/tar does: GNU and PAX names, all kinds of sparse files, ending at the
 * first two blocks of zeros. Neither `tar-stream` nor `tar` keeps names that are not UTF-8, or reads sparse files.
 */
export async function* readTar(source: ByteSource): AsyncGenerator<TarEntry, void, undefined> {
  let pax: PaxRecords | undefined
  let longName: string | undefined
  let longLink: string | undefined
  for (;;) {
    const block = await source.take(blockBytes)
    const header = block && readTarHeader(block)
    if (!block || !header) {
      if (block && (await source.take(blockBytes))?.some((byte) => byte !== 0) === true) {
        throw new ArchiveFault('it is not a tar archive, or it is damaged')
      }
      return
    }
    switch (header.type) {
      case 'x':
        pax = readPaxRecords(await special(source, header.size))
        continue
      case 'g':
        // A global header, as git writes. Layers do not need it, and Go ignores it, too.
        await special(source, header.size)
        continue
      case 'L':
        longName = cString(await special(source, header.size))
        continue
      case 'K':
        longLink = cString(await special(source, header.size))
        continue
      default:
    }
    const { entry, storedBytes } = await assemble(source, { block, header, pax, longName, longLink })
    pax = longName = longLink = undefined
    const end = source.position + storedBytes
    yield { ...entry, start: source.position, content: () => contentUntil(source, end) }
    await source.skip(end - source.position)
    // Some programs leave out the padding of the last block.
    if (storedBytes % blockBytes !== 0) await skipPadding(source, blockBytes - (storedBytes % blockBytes))
  }
}

interface EntryParts {
  readonly block: Buffer
  readonly header: TarHeader
  readonly pax: PaxRecords | undefined
  readonly longName: string | undefined
  readonly longLink: string | undefined
}

async function assemble(source: ByteSource, { block, header, pax, longName, longLink }: EntryParts) {
  const said = (key: string) => pax?.values.get(key) || undefined
  const number = (key: string, own: number) => {
    const text = said(key)
    return text === undefined ? own : wholeNumber(text)
  }
  const type = typeOf(header)
  const stored = type === 'file' ? number('size', header.size) : 0
  let sparse: SparseMap | undefined
  if (header.type === 'S') sparse = await readGnuSparse(block, stored, source)
  else if (type === 'file' && pax) sparse = await readPaxSparse(pax, stored, source)
  const storedBytes = sparse?.storedBytes ?? stored
  const size = sparse?.size ?? stored
  const name = longName ?? sparse?.name ?? said('path') ?? header.name
  const prefix = 'SCHILY.xattr.'
  const attributes = [...(pax?.values.keys() ?? [])].filter((key) => key.startsWith(prefix))
  const entry = {
    type,
    name,
    linkName: longLink ?? said('linkpath') ?? header.linkName,
    mode: header.mode & 0o7777,
    uid: number('uid', header.uid),
    gid: number('gid', header.gid),
    mtimeSeconds: timeOf(said('mtime')) ?? header.mtimeSeconds,
    size,
    extents: sparse?.extents ?? [{ offset: 0, length: size }],
    attributes: attributes.map((key) => key.slice(prefix.length)),
  }
  return { entry, storedBytes }
}

function typeOf({ type, name }: TarHeader): TarEntryType {
  switch (type) {
    case '\0':
      return name.endsWith('/') ? 'directory' : 'file'
    case '0':
    case '7':
    case 'S':
      return 'file'
    case '1':
      return 'link'
    case '2':
      return 'symlink'
    case '3':
    case '4':
      return 'device'
    case '5':
      return 'directory'
    case '6':
      return 'fifo'
    default:
      throw new ArchiveFault(`an entry has the type ${JSON.stringify(type)}, which is not known here`)
  }
}

async function special(source: ByteSource, size: number): Promise<Buffer> {
  if (size > longestSpecialBytes)
    throw new ArchiveFault(`an entry has a header of more than ${longestSpecialBytes} bytes`)
  if (size === 0) return Buffer.alloc(0)
  const content = await source.take(size)
  if (!content) throw new ArchiveFault('the archive ends in the middle of an entry')
  if (size % blockBytes !== 0) await skipPadding(source, blockBytes - (size % blockBytes))
  return content
}

async function skipPadding(source: ByteSource, count: number): Promise<void> {
  for (let left = count; left > 0;) {
    const piece = await source.some(left)
    if (!piece) return
    left -= piece.length
  }
}

async function* contentUntil(source: ByteSource, end: number): AsyncGenerator<Buffer, void, undefined> {
  while (source.position < end) {
    const piece = await source.some(Math.min(pieceBytes, end - source.position))
    if (!piece) throw new ArchiveFault('the archive ends in the middle of an entry')
    yield piece
  }
}

function cString(content: Buffer): string {
  const end = content.indexOf(0)
  return content.toString('latin1', 0, end < 0 ? content.length : end)
}

/** Seconds with a fraction; an invalid time is ignored rather than refusing the image. */
function timeOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,12}(?:\.\d{1,20})?$/.test(text) ? Number(text) : undefined
}
