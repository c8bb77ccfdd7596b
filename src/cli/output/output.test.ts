import { describe, expect, it } from 'vitest'
import { parseFlags } from '../flags.ts'
import { outputFlag, outputForm } from './output-flag.ts'
import { type Listing, printable, renderList, renderObject } from './print-output.ts'

interface Fruit {
  readonly name: string
  readonly weight: number
  readonly origin?: string | undefined
}

const listing: Listing<Fruit> = {
  resource: 'fruit.example.com',
  nameOf: ({ name }) => name,
  columns: [
    { title: 'NAME', text: ({ name }) => name },
    { title: 'ORIGIN', wide: true, text: ({ origin }) => origin ?? '' },
    { title: 'WEIGHT', text: ({ weight }) => String(weight) },
  ],
  none: 'There is no fruit.',
}
const fruits = [
  { name: 'apple', weight: 100 },
  { name: 'fig', weight: 30, origin: 'Izmir' },
]

describe('-o', () => {
  it.each([
    [undefined, 'NAME    WEIGHT\napple   100\nfig     30\n'],
    ['wide', 'NAME    ORIGIN   WEIGHT\napple            100\nfig     Izmir    30\n'],
    ['name', 'fruit.example.com/apple\nfruit.example.com/fig\n'],
    [
      'yaml',
      'apiVersion: v1\nkind: List\nitems:\n  - name: apple\n    weight: 100\n  - name: fig\n    weight: 30\n    origin: Izmir\n',
    ],
  ] as const)('%s', async (form, text) => {
    expect(await renderList(fruits, listing, form)).toEqual({ text })
  })

  it('json', async () => {
    const { text } = await renderList(fruits, listing, 'json')
    expect(JSON.parse(text)).toEqual({ apiVersion: 'v1', kind: 'List', items: fruits })
  })

  it('says to people that there is nothing, and gives programs an empty list', async () => {
    expect(await renderList([], listing, undefined)).toEqual({ text: '', hint: 'There is no fruit.' })
    expect(await renderList([], listing, 'name')).toEqual({ text: '' })
    expect(JSON.parse((await renderList([], listing, 'json')).text)).toMatchObject({ items: [] })
  })

  it('prints one thing, too', async () => {
    const fig = { name: 'fig', weight: 30, origin: undefined }
    expect(await renderObject(fig, listing, undefined, ['A fig.'])).toBe('A fig.\n')
    expect(await renderObject(fig, listing, 'name', [])).toBe('fruit.example.com/fig\n')
    expect(await renderObject(fig, listing, 'yaml', [])).toBe('name: fig\nweight: 30\n')
    expect(JSON.parse(await renderObject(fig, listing, 'json', []))).toEqual({ name: 'fig', weight: 30 })
  })

  it('leaves out who wrote which field, as kubectl does', async () => {
    const fig = { name: 'fig', weight: 30, metadata: { name: 'fig', managedFields: [{ manager: 'kubectl' }] } }
    for (const form of ['json', 'yaml'] as const) {
      expect(await renderObject(fig, listing, form, [])).not.toContain('managedFields')
      expect((await renderList([fig], listing, form)).text).not.toContain('kubectl')
    }
  })

  it('is refused where it is not known', () => {
    expect(() => outputForm(parseFlags([outputFlag], ['-o', 'jsno']))).toThrow('Did you mean json?')
    expect(outputForm(parseFlags([outputFlag], []))).toBeUndefined()
  })

  it('lets nothing through that steers a terminal', () => {
    expect(printable('a\u001b[2Jb')).toBe('a?[2Jb')
  })
})
