import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fitSequenceFile } from './sequence-file.ts'

const number = (value: number) => Buffer.from(Uint32Array.of(value).buffer)
const numbers = (...values: number[]) => Buffer.concat(values.map(number))
const empty = (count: number) => numbers(...Array.from({ length: count }, () => 0))

const beginning = (tokens: number) => Buffer.concat([numbers(0x67677371, 3, tokens), numbers(...Array(tokens).keys())])
/** What a cache has for a sequence: two layers, whose values are rows like the keys, or columns. */
const cells = (count: number, areColumns: boolean) => {
  const places = Array.from({ length: count }, (_, position) => numbers(position, 1, 2))
  const rows = Array.from({ length: 2 }, () => [numbers(1, 6, 0), Buffer.alloc(count * 6, 7)]).flat()
  const columns = Array.from({ length: 2 }, () => [numbers(1, 2, 3), Buffer.alloc(count * 6, 9)]).flat()
  return Buffer.concat([
    number(count),
    ...places,
    numbers(areColumns ? 1 : 0, 2),
    ...rows,
    ...(areColumns ? columns : rows),
  ])
}
/** A cache of so many sequences, as it is for the one at a place. */
const cache = (sequences: number, place: number, content: Buffer) =>
  Buffer.concat([number(sequences), empty(place), content, empty(sequences - 1 - place)])

describe('a file of one sequence', () => {
  let folder: string
  let file: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-sequence-file-'))
    file = join(folder, 'state')
  })
  afterEach(() => rm(folder, { recursive: true }))

  const fitted = async (content: Buffer, sequences: number) => {
    await writeFile(file, content)
    const isFit = await fitSequenceFile(file, sequences)
    expect(await readdir(folder)).toEqual(['state'])
    return { isFit, content: await readFile(file) }
  }

  it.each([
    ['more sequences', 1, 0, 4, false],
    ['fewer, though it was the last', 8, 7, 1, false],
    ['as many, in another place', 4, 2, 4, false],
    ['more sequences, with values in columns', 2, 1, 8, true],
  ])('fits a context of %s', async (_, had, place, wanted, areColumns) => {
    const content = cells(3, areColumns)
    const old = Buffer.concat([beginning(3), cache(had, place, content)])
    const expected = Buffer.concat([beginning(3), cache(wanted, 0, content)])
    expect(await fitted(old, wanted)).toEqual({ isFit: true, content: expected })
  })

  it('may have two caches, one of which holds less', async () => {
    const [all, last] = [cells(300, false), cells(20, false)]
    const old = Buffer.concat([beginning(300), cache(2, 1, all), cache(2, 1, last)])
    const expected = Buffer.concat([beginning(300), cache(4, 0, all), cache(4, 0, last)])
    expect(await fitted(old, 4)).toEqual({ isFit: true, content: expected })
  })

  const whole = Buffer.concat([beginning(3), cache(2, 1, cells(3, false))])
  it.each([
    ['nothing', Buffer.alloc(0)],
    ['something else', Buffer.from('GGUF and so on')],
    ['it without its end', whole.subarray(0, -1)],
    ['it with more behind', Buffer.concat([whole, number(1)])],
    ['it with a cell of several sequences', Buffer.concat([beginning(1), numbers(1, 1, 0, 2, 0, 1, 0, 0)])],
    ['no cell at all', Buffer.concat([beginning(1), number(4), empty(4)])],
    ['cells beyond its end', Buffer.concat([beginning(1), numbers(1, 0xffffffff, 0, 1, 0)])],
    ['very many layers', Buffer.concat([beginning(1), numbers(1, 1, 0, 1, 0, 0, 0xffffffff)])],
  ])('stays as it is if it has %s', async (_, content) => {
    expect(await fitted(content, 4)).toEqual({ isFit: false, content })
  })
})
