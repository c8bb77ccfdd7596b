import { ArchiveFault } from './archive-fault.ts'
import type { ByteSource } from './byte-source.ts'
import { type PaxRecords, wholeNumber } from './pax-records.ts'
import { blockBytes, numberAt } from './tar-header.ts'

/** A piece of a sparse file that has bytes; the rest are holes. */
export interface Extent {
  readonly offset: number
  readonly length: number
}

/** A sparse file: its length, where its bytes go, and how many bytes are stored. */
export interface SparseMap {
  readonly name: string | undefined
  readonly size: number
  readonly extents: readonly Extent[]
  readonly storedBytes: number
}

const mostExtents = 100_000

/** GNU's format: four extents in the header block, more in the blocks of 21 that follow. */
export async function readGnuSparse(header: Buffer, stored: number, source: ByteSource): Promise<SparseMap> {
  const extents: Extent[] = []
  let block = header
  let at = 386
  let most = 4
  for (;;) {
    for (let index = 0; index < most; index += 1) {
      const start = at + index * 24
      if ((block[start] ?? 0) === 0) continue
      extents.push({ offset: numberAt(block, start, 12), length: numberAt(block, start + 12, 12) })
    }
    requireFew(extents.length)
    if ((block[at + most * 24] ?? 0) === 0) break
    const next = await source.take(blockBytes)
    if (!next) throw new ArchiveFault('the archive ends in the middle of an entry')
    block = next
    at = 0
    most = 21
  }
  return checked({ name: undefined, size: numberAt(header, 483, 12), extents, storedBytes: stored })
}

/** The three versions that PAX headers use; the newest stores the extents before the file's bytes. */
export async function readPaxSparse(
  { values, sparsePairs }: PaxRecords,
  stored: number,
  source: ByteSource,
): Promise<SparseMap | undefined> {
  const name = values.get('GNU.sparse.name')
  const version = `${values.get('GNU.sparse.major') ?? ''}.${values.get('GNU.sparse.minor') ?? ''}`
  if (version === '1.0') {
    const { numbers, bytes } = await readMapBlocks(source, stored)
    const size = wholeNumber(values.get('GNU.sparse.realsize') ?? '')
    return checked({ name, size, extents: inPairs(numbers), storedBytes: stored - bytes })
  }
  const map = values.get('GNU.sparse.map')
  if (map === undefined && sparsePairs.length === 0) return undefined
  const numbers = map === undefined ? sparsePairs : map === '' ? [] : map.split(',').map(wholeNumber)
  const size = wholeNumber(values.get('GNU.sparse.size') ?? '')
  return checked({ name, size, extents: inPairs(numbers), storedBytes: stored })
}

/** A count, then offset and length of each extent, one number per line, padded to whole blocks. */
async function readMapBlocks(source: ByteSource, stored: number): Promise<{ numbers: number[]; bytes: number }> {
  const numbers: number[] = []
  let rest = ''
  let bytes = 0
  let wanted: number | undefined
  while (wanted === undefined || numbers.length < wanted * 2) {
    const block = bytes + blockBytes <= stored ? await source.take(blockBytes) : undefined
    if (!block) throw new ArchiveFault('a sparse file has a malformed map')
    bytes += blockBytes
    const lines = (rest + block.toString('latin1')).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > blockBytes) throw new ArchiveFault('a sparse file has a malformed map')
    for (const line of lines) {
      if (wanted === undefined) {
        wanted = wholeNumber(line)
        requireFew(wanted)
      } else if (numbers.length < wanted * 2) numbers.push(wholeNumber(line))
    }
  }
  return { numbers, bytes }
}

function inPairs(numbers: readonly number[]): Extent[] {
  if (numbers.length % 2 !== 0) throw new ArchiveFault('a sparse file has a malformed map')
  requireFew(numbers.length / 2)
  return Array.from({ length: numbers.length / 2 }, (_, index) => ({
    offset: numbers[index * 2] ?? 0,
    length: numbers[index * 2 + 1] ?? 0,
  }))
}

function requireFew(count: number): void {
  if (count > mostExtents) throw new ArchiveFault(`a sparse file has more than ${mostExtents} parts`)
}

/** Checks that extents are in order, do not overlap, are inside the file, and match what is stored. */
function checked(map: SparseMap): SparseMap {
  let end = 0
  let sum = 0
  for (const { offset, length } of map.extents) {
    if (offset < end || offset + length > map.size) throw new ArchiveFault('a sparse file has a malformed map')
    end = offset + length
    sum += length
  }
  if (sum !== map.storedBytes) throw new ArchiveFault('a sparse file has another size than its map says')
  return map
}
