import type { FileTree, TreeEntry } from './file-tree.ts'

const block = 512
const longestName = 100
const types = { file: '0', link: '2', folder: '5', extended: 'x' }

/**
 * A tar archive (POSIX.1-2001) that depends on nothing but the files: sorted, owned by root, all of the same time.
 * Seconds since 1970.
 */
export function tarArchive(tree: FileTree, time: number): Buffer {
  const parts: Buffer[] = []
  for (const [path, entry] of tree.entries) {
    const name = entry.kind === 'folder' ? `${path}/` : path
    const target = entry.kind === 'link' ? entry.to : ''
    const long = [...tooLong('path', name), ...tooLong('linkpath', target)]
    if (long.length > 0) {
      const records = Buffer.from(long.join(''))
      const about = { name: 'PaxHeader', type: types.extended, mode: 0o644, size: records.length, target: '', time }
      parts.push(header(about), padded(records))
    }
    const content = entry.kind === 'file' ? entry.read() : Buffer.alloc(0)
    parts.push(header({ name, type: types[entry.kind], mode: modeOf(entry), size: content.length, target, time }))
    parts.push(padded(content))
  }
  parts.push(Buffer.alloc(2 * block))
  return Buffer.concat(parts)
}

function modeOf(entry: TreeEntry): number {
  return entry.kind === 'link' ? 0o777 : entry.mode
}

function tooLong(key: string, value: string): string[] {
  if (Buffer.byteLength(value) <= longestName) return []
  const rest = ` ${key}=${value}\n`
  const bytes = Buffer.byteLength(rest)
  // The length of a record counts its own digits.
  let length = bytes + String(bytes).length
  if (bytes + String(length).length !== length) length = bytes + String(length).length
  return [`${length}${rest}`]
}

function header(about: {
  readonly name: string
  readonly type: string
  readonly mode: number
  readonly size: number
  readonly target: string
  readonly time: number
}): Buffer {
  const bytes = Buffer.alloc(block)
  const octal = (value: number, at: number, length: number) =>
    bytes.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1')
  Buffer.from(about.name).copy(bytes, 0, 0, longestName)
  octal(about.mode, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(about.size, 124, 12)
  octal(about.time, 136, 12)
  bytes.write('        ', 148, 'latin1')
  bytes.write(about.type, 156, 'latin1')
  Buffer.from(about.target).copy(bytes, 157, 0, longestName)
  bytes.write('ustar\x0000', 257, 'latin1')
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return bytes
}

function padded(content: Buffer): Buffer {
  const left = (block - (content.length % block)) % block
  return left === 0 ? content : Buffer.concat([content, Buffer.alloc(left)])
}
