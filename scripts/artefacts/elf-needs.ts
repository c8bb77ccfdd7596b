/** What a program or library of Linux says about itself. */
export interface ElfFacts {
  readonly architecture: 'amd64' | 'arm64' | 'other'
  /** The names of the libraries that it is linked with. */
  readonly needs: readonly string[]
  /** The loader that starts it, if it is a program. */
  readonly loader: string | undefined
}

const segment = { load: 1, dynamic: 2, loader: 3 }
const tag = { end: 0, needed: 1, stringTable: 5 }
const machines: Readonly<Record<number, ElfFacts['architecture']>> = { 62: 'amd64', 183: 'arm64' }

/** Reads the header of a 64-bit file; undefined if it is none. Unlike `ldd` it works for other machines' files. */
export function elfFacts(file: Buffer): ElfFacts | undefined {
  const isElf = file.length >= 64 && file.readUInt32BE(0) === 0x7f454c46 && file[4] === 2 && file[5] === 1
  if (!isElf) return undefined
  const segments = Array.from({ length: file.readUInt16LE(56) }, (_none, index) => {
    const at = number(file, 32) + index * file.readUInt16LE(54)
    return {
      type: file.readUInt32LE(at),
      offset: number(file, at + 8),
      address: number(file, at + 16),
      size: number(file, at + 32),
    }
  })
  const loads = segments.filter(({ type }) => type === segment.load)
  const offsetOf = (address: number) => {
    const load = loads.find((each) => address >= each.address && address < each.address + each.size)
    return load ? address - load.address + load.offset : 0
  }
  const { offset: from, size } = segments.find(({ type }) => type === segment.dynamic) ?? { offset: 0, size: 0 }
  const entries: Array<readonly [number, number]> = []
  for (let at = from; at < from + size; at += 16) {
    const entry = [number(file, at), number(file, at + 8)] as const
    if (entry[0] === tag.end) break
    entries.push(entry)
  }
  const strings = offsetOf(entries.find(([kind]) => kind === tag.stringTable)?.[1] ?? 0)
  const needs = entries.filter(([kind]) => kind === tag.needed).map(([, at]) => textAt(file, strings + at))
  const loader = segments.find(({ type }) => type === segment.loader)
  return {
    architecture: machines[file.readUInt16LE(18)] ?? 'other',
    needs,
    loader: loader && textAt(file, loader.offset),
  }
}

function number(file: Buffer, at: number): number {
  return Number(file.readBigUInt64LE(at))
}

function textAt(file: Buffer, start: number): string {
  return file.subarray(start, file.indexOf(0, start)).toString('utf8')
}
