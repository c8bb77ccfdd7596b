import { type FileHandle, open, rename, rm } from 'node:fs/promises'

/** With this number begins what llama.cpp writes of one sequence. */
const magic = 0x67677371
const numberBytes = 4
/** Of a cell: its position, of how many sequences it is, and of which. */
const cellBytes = 3 * numberBytes
const chunkBytes = 1024 * 1024

/** A range of the old file, or a number. */
type Piece = { readonly from: number; readonly to: number } | number

/**
 * Makes a file that llama.cpp wrote of one sequence fit a context of so many sequences, which else refuses it: each of
 * its caches begins with how many sequences there are, and has an empty place for each of the others. False if the file
 * is not understood to its last byte. Then it is as it was.
 */
export async function fitSequenceFile(file: string, sequences: number): Promise<boolean> {
  const draft = `${file}.fit`
  try {
    const isFit = await writeFitting(file, sequences, draft)
    if (isFit) await rename(draft, file)
    return isFit
  } finally {
    await rm(draft, { force: true })
  }
}

async function writeFitting(file: string, sequences: number, draft: string): Promise<boolean> {
  const old = await open(file, 'r')
  try {
    const pieces = await piecesOf(new NumberReader(old, (await old.stat()).size), sequences)
    if (pieces === undefined) return false
    const fitting = await open(draft, 'wx', 0o600)
    try {
      for (const piece of pieces) await append(fitting, old, piece)
    } finally {
      await fitting.close()
    }
    return true
  } finally {
    await old.close()
  }
}

async function piecesOf(reader: NumberReader, sequences: number): Promise<readonly Piece[] | undefined> {
  try {
    if ((await reader.number()) !== magic) return undefined
    // The version of the format; if it is another one, what follows is not understood.
    await reader.number()
    reader.skip((await reader.number()) * numberBytes)
    const pieces: Piece[] = [{ from: 0, to: reader.at }]
    // Models with layers that look back only so far have a cache of their own for these.
    while (!reader.isAtEnd) pieces.push(...(await cachePieces(reader, sequences)))
    return pieces
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined
    throw error
  }
}

/** A cache, as a context of so many sequences would have written it for its first one. */
async function cachePieces(reader: NumberReader, sequences: number): Promise<readonly Piece[]> {
  const places = await reader.number()
  let place = 0
  let from = reader.at
  let cells = await reader.number()
  for (; cells === 0; place += 1) {
    understood(place < places)
    from = reader.at
    cells = await reader.number()
  }
  await skipCells(reader, cells)
  const to = reader.at
  for (place += 1; place < places; place += 1) understood((await reader.number()) === 0)
  understood(place === places)
  return [sequences, { from, to }, ...Array.from({ length: sequences - 1 }, () => 0)]
}

async function skipCells(reader: NumberReader, cells: number): Promise<void> {
  const positions = await reader.bytes(cells * cellBytes)
  for (let at = 0; at < positions.length; at += cellBytes) understood(positions.readUInt32LE(at + numberBytes) === 1)
  const areValuesTransposed = await reader.number()
  const layers = await reader.number()
  understood(areValuesTransposed <= 1)
  for (let layer = 0; layer < layers; layer += 1) await skipRows(reader, cells)
  for (let layer = 0; layer < layers; layer += 1) {
    if (areValuesTransposed === 1) await skipColumns(reader, cells)
    else await skipRows(reader, cells)
  }
}

/** Their type, the bytes of each, and they. */
async function skipRows(reader: NumberReader, cells: number): Promise<void> {
  await reader.number()
  reader.skip((await reader.largeNumber()) * cells)
}

/** Their type, the bytes of an element, how many columns there are, and they. */
async function skipColumns(reader: NumberReader, cells: number): Promise<void> {
  await reader.number()
  const elementBytes = await reader.number()
  reader.skip((await reader.number()) * elementBytes * cells)
}

async function append(fitting: FileHandle, old: FileHandle, piece: Piece): Promise<void> {
  if (typeof piece === 'number') {
    const bytes = Buffer.alloc(numberBytes)
    bytes.writeUInt32LE(piece)
    await fitting.writeFile(bytes)
    return
  }
  const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, piece.to - piece.from))
  for (let at = piece.from; at < piece.to;) {
    const { bytesRead } = await old.read(chunk, 0, Math.min(chunk.length, piece.to - at), at)
    if (bytesRead === 0) throw new Error('the file became shorter')
    await fitting.writeFile(chunk.subarray(0, bytesRead))
    at += bytesRead
  }
}

class NotUnderstood extends Error {}

function understood(holds: boolean): void {
  if (!holds) throw new NotUnderstood()
}

/** Reads a file from its beginning, and never beyond its end. */
class NumberReader {
  readonly #file: FileHandle
  readonly #size: number
  #at = 0

  constructor(file: FileHandle, size: number) {
    this.#file = file
    this.#size = size
  }

  get at(): number {
    return this.#at
  }

  get isAtEnd(): boolean {
    return this.#at === this.#size
  }

  async number(): Promise<number> {
    return (await this.bytes(numberBytes)).readUInt32LE()
  }

  async largeNumber(): Promise<number> {
    return Number((await this.bytes(2 * numberBytes)).readBigUInt64LE())
  }

  async bytes(count: number): Promise<Buffer> {
    const from = this.#at
    this.skip(count)
    const bytes = Buffer.alloc(count)
    const { bytesRead } = await this.#file.read(bytes, 0, count, from)
    understood(bytesRead === count)
    return bytes
  }

  skip(count: number): void {
    understood(this.#at + count <= this.#size)
    this.#at += count
  }
}
