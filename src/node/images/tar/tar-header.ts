import { ArchiveFault } from './archive-fault.ts'

export const blockBytes = 512

/** The fields of a 512-byte header block; strings have one character per byte. */
export interface TarHeader {
  readonly name: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  readonly mtimeSeconds: number
  /** A single character. */
  readonly type: string
  readonly linkName: string
}

/** `undefined` for a block of zeros, which ends the archive. */
export function readTarHeader(block: Buffer): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined
  requireChecksum(block)
  const isPosix = block.toString('latin1', 257, 265) === 'ustar\x0000'
  const prefix = isPosix ? textAt(block, 345, 155) : ''
  const ownName = textAt(block, 0, 100)
  return {
    name: prefix === '' ? ownName : `${prefix}/${ownName}`,
    mode: numberAt(block, 100, 8),
    uid: numberAt(block, 108, 8),
    gid: numberAt(block, 116, 8),
    size: numberAt(block, 124, 12),
    mtimeSeconds: timeAt(block, 136, 12),
    type: block.toString('latin1', 156, 157),
    linkName: textAt(block, 157, 100),
  }
}

export function textAt(block: Buffer, at: number, length: number): string {
  const end = block.subarray(at, at + length).indexOf(0)
  return block.toString('latin1', at, end < 0 ? at + length : at + end)
}

/** Octal digits or, if the first bit is set, a binary number. No field used here can be negative. */
export function numberAt(block: Buffer, at: number, length: number): number {
  const first = block[at] ?? 0
  if ((first & 0x80) === 0) {
    const digits = textAt(block, at, length).replaceAll(/^ +| +$/g, '')
    if (digits === '') return 0
    if (!/^[0-7]+$/.test(digits)) throw new ArchiveFault('an entry has a number that is none')
    return Number.parseInt(digits, 8)
  }
  if ((first & 0x40) !== 0) throw new ArchiveFault('an entry has a negative number')
  let value = first & 0x3f
  for (const byte of block.subarray(at + 1, at + length)) value = value * 256 + byte
  if (!Number.isSafeInteger(value)) throw new ArchiveFault('an entry has a number that is too large')
  return value
}

/** Times before 1970, which some archives have, become 1970. */
function timeAt(block: Buffer, at: number, length: number): number {
  return ((block[at] ?? 0) & 0xc0) === 0xc0 ? 0 : numberAt(block, at, length)
}

/** The checksum is the sum of all bytes, with its own field counted as blanks. Old programs added signed bytes. */
function requireChecksum(block: Buffer): void {
  let sum = 0
  let signed = 0
  for (const [index, own] of block.entries()) {
    const byte = index >= 148 && index < 156 ? 0x20 : own
    sum += byte
    signed += byte > 127 ? byte - 256 : byte
  }
  const written = textAt(block, 148, 8).trim()
  const expected = /^[0-7]+$/.test(written) ? Number.parseInt(written, 8) : Number.NaN
  if (expected !== sum && expected !== signed) throw new ArchiveFault('it is not a tar archive, or it is damaged')
}
