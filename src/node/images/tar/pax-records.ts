import { ArchiveFault } from './archive-fault.ts'

/** The records of a PAX header about the entry that follows; strings have one character per byte. */
export interface PaxRecords {
  readonly values: ReadonlyMap<string, string>
  /** Offsets and lengths of a sparse file, in the oldest form: repeated keys. */
  readonly sparsePairs: readonly number[]
}

/** Parses records of the form `<length> <key>=<value>\n`. */
export function readPaxRecords(content: Buffer): PaxRecords {
  const values = new Map<string, string>()
  const sparsePairs: number[] = []
  for (let at = 0; at < content.length;) {
    const blank = content.indexOf(0x20, at)
    const digits = blank < 0 || blank - at > 10 ? '' : content.toString('latin1', at, blank)
    const end = /^[1-9]\d*$/.test(digits) ? at + Number(digits) : 0
    const equals = content.indexOf(0x3d, blank)
    if (end <= blank || end > content.length || content[end - 1] !== 0x0a || equals < 0 || equals >= end) {
      throw new ArchiveFault('an entry has a malformed PAX header')
    }
    const key = content.toString('latin1', blank + 1, equals)
    const value = content.toString('latin1', equals + 1, end - 1)
    if (key === 'GNU.sparse.offset' || key === 'GNU.sparse.numbytes') sparsePairs.push(wholeNumber(value))
    else values.set(key, value)
    at = end
  }
  for (const key of ['path', 'linkpath', 'GNU.sparse.name']) {
    if (values.get(key)?.includes('\0') === true) throw new ArchiveFault('an entry has a name with a zero byte')
  }
  return { values, sparsePairs }
}

export function wholeNumber(text: string): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value)) throw new ArchiveFault('an entry has a number that is none')
  return value
}
