import { createHash } from 'node:crypto'

/** An entry that a test puts into an archive. Names and texts are UTF-8 unless given as bytes. */
export interface WrittenEntry {
  readonly name: string | Buffer
  /** The type in the header: `0` a file, `5` a folder, `2` a symbolic link, `1` a hard link, … */
  readonly type?: string
  readonly content?: string | Buffer
  readonly linkName?: string | Buffer
  readonly mode?: number
  readonly uid?: number
  readonly gid?: number
  readonly mtime?: number
  /** Overrides the content's size, for headers that lie. */
  readonly size?: number
  /** Records of a PAX header to write before it. */
  readonly pax?: Readonly<Record<string, string | Buffer>>
}

/** Writes a tar archive without any checks. */
export function writeTar(entries: readonly WrittenEntry[], end = Buffer.alloc(1024)): Buffer {
  return Buffer.concat([...entries.flatMap(blocksOf), end])
}

export const folder = (name: string, more: Partial<WrittenEntry> = {}): WrittenEntry => ({
  name,
  type: '5',
  mode: 0o755,
  ...more,
})
export const file = (name: string | Buffer, content = '', more: Partial<WrittenEntry> = {}): WrittenEntry => ({
  name,
  content,
  ...more,
})
export const symlink = (name: string, linkName: string): WrittenEntry => ({ name, type: '2', linkName, mode: 0o777 })
export const hardLink = (name: string, linkName: string): WrittenEntry => ({ name, type: '1', linkName })

export function sha256(content: Buffer | string): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}

function blocksOf(entry: WrittenEntry): Buffer[] {
  const name = Buffer.from(entry.name)
  const linkName = Buffer.from(entry.linkName ?? '')
  const pax = {
    ...entry.pax,
    ...(name.length > 100 ? { path: name } : {}),
    ...(linkName.length > 100 ? { linkpath: linkName } : {}),
  }
  const records = Buffer.concat(Object.entries(pax).map(([key, value]) => record(key, Buffer.from(value))))
  const content = Buffer.from(entry.content ?? '')
  return [
    ...(records.length === 0 ? [] : [headerBlock({ name: 'pax', type: 'x', size: records.length }), padded(records)]),
    headerBlock({ ...entry, size: entry.size ?? content.length }),
    padded(content),
  ]
}

function record(key: string, value: Buffer): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from('\n')])
  let length = rest.length + 1
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length
  return Buffer.concat([Buffer.from(String(length)), rest])
}

export function headerBlock(entry: WrittenEntry): Buffer {
  const block = Buffer.alloc(512)
  Buffer.from(entry.name).copy(block, 0, 0, 100)
  octal(block, 100, 8, entry.mode ?? 0o644)
  octal(block, 108, 8, entry.uid ?? 0)
  octal(block, 116, 8, entry.gid ?? 0)
  octal(block, 124, 12, entry.size ?? 0)
  octal(block, 136, 12, entry.mtime ?? 1_700_000_000)
  block.write(entry.type ?? '0', 156, 'latin1')
  Buffer.from(entry.linkName ?? '').copy(block, 157, 0, 100)
  block.write('ustar\x0000', 257, 'latin1')
  return signed(block)
}

export function signed(block: Buffer): Buffer {
  block.fill(0x20, 148, 156)
  octal(
    block,
    148,
    8,
    block.reduce((sum, byte) => sum + byte, 0),
  )
  return block
}

function octal(block: Buffer, at: number, length: number, value: number): void {
  block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1')
}

function padded(content: Buffer): Buffer {
  const missing = (512 - (content.length % 512)) % 512
  return Buffer.concat([content, Buffer.alloc(missing)])
}
