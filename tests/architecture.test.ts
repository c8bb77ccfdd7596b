import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const src = fileURLToPath(new URL('../src', import.meta.url))

/** Which room may import which. Every room may import foundation and itself. */
const mayImport: Record<string, readonly string[]> = {
  foundation: [],
  resources: [],
  store: ['resources'],
  apiserver: ['store', 'resources'],
  cluster: ['resources'],
  workloads: ['cluster', 'resources'],
  node: ['cluster', 'resources'],
  operator: ['cluster', 'resources'],
  autoscaler: ['cluster', 'resources'],
  traffic: ['cluster', 'resources'],
  usage: ['cluster', 'resources'],
  relay: [],
  gateway: ['traffic', 'relay', 'resources'],
  exposure: ['relay', 'cluster', 'resources'],
  management: ['cluster', 'resources'],
  dns: ['cluster', 'resources'],
  engine: [],
  platform: [
    'resources',
    'store',
    'apiserver',
    'cluster',
    'workloads',
    'node',
    'operator',
    'autoscaler',
    'traffic',
    'usage',
    'relay',
    'gateway',
    'exposure',
    'management',
    'dns',
    'engine',
  ],
  cli: ['platform', 'engine', 'resources'],
}

/**
 * The files that every room may use, kept few. Anything else stays where it is needed, or is added to this list and to
 * its row in the docs.
 */
const foundation = [
  'built-page.ts',
  'clock.ts',
  'error-catalog.ts',
  'errors.ts',
  'fake-clock.ts',
  'garbage.ts',
  'held-series.ts',
  'lifecycle.ts',
  'linked-signal.ts',
  'log.ts',
  'loop-marks.ts',
  'loop-turns.ts',
  'metrics.ts',
]

/** The embedded client is the only file of `cluster` that may import the embedded cluster. */
const exceptions: Record<string, readonly string[]> = { 'cluster/embedded-client.ts': ['store', 'apiserver'] }

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
const production = files.filter((name) => !/\.(test|contract|fixture)\.ts$/.test(name))

function importsOf(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8')
  const found = [...text.matchAll(/(?:from |import |import\()'(\.{1,2}\/[^']+)'/g)].map((match) => match[1] ?? '')
  return found.map((path) => relative(src, resolve(src, dirname(file), path)))
}

/** Import cycles: chains of files that lead back to their beginning. */
function circlesIn(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = []
  const finished = new Set<string>()
  const visit = (file: string, chain: readonly string[]): void => {
    const at = chain.indexOf(file)
    if (at >= 0) return void circles.push([...chain.slice(at), file].join(' → '))
    if (finished.has(file)) return
    for (const target of imports.get(file) ?? []) visit(target, [...chain, file])
    finished.add(file)
  }
  for (const file of imports.keys()) visit(file, [])
  return circles
}

const roomOf = (path: string) => path.split('/')[0] ?? ''

describe('the rooms', () => {
  it('are all known', () => {
    const rooms = readdirSync(src)
    expect(rooms.filter((room) => !(room in mayImport))).toEqual([])
  })

  it('import only whom they may', () => {
    const trespasses = production.flatMap((file) => {
      const room = roomOf(file)
      const allowed = ['foundation', room, ...(mayImport[room] ?? []), ...(exceptions[file] ?? [])]
      return importsOf(file)
        .filter((target) => !allowed.includes(roomOf(target)))
        .map((target) => `${file} → ${target}`)
    })
    expect(trespasses).toEqual([])
  })

  it('run without what only supports tests', () => {
    const strays = production.flatMap((file) =>
      importsOf(file)
        .filter((target) => /\.(test|contract|fixture)\.ts$|(^|\/)test-support\/|\/fake-clock\.ts$/.test(target))
        .map((target) => `${file} → ${target}`),
    )
    expect(strays).toEqual([])
  })

  it('keep in a folder for test support nothing that is not named so', () => {
    expect(production.filter((file) => file.includes('/test-support/'))).toEqual([])
  })

  it('share no more than the closed list of the foundation', () => {
    const shared = production
      .filter((file) => roomOf(file) === 'foundation')
      .map((file) => relative('foundation', file))
    expect(shared.toSorted()).toEqual(foundation)
  })

  it.each(Object.keys(mayImport))('%s has no files that import each other', (room) => {
    const own = production.filter((file) => roomOf(file) === room)
    const imports = new Map(own.map((file) => [file, importsOf(file).filter((target) => roomOf(target) === room)]))
    expect(circlesIn(imports)).toEqual([])
  })

  it('hold no file whose name says nothing', () => {
    expect(files.filter((name) => /(^|\/)(utils?|helpers?|common|misc|index)\.ts$/.test(name))).toEqual([])
  })

  it('need only packages that package.json names', () => {
    const manifest = JSON.parse(readFileSync(join(src, '../package.json'), 'utf8')) as {
      dependencies: Record<string, string>
    }
    const strangers = production.flatMap((file) => {
      const text = readFileSync(join(src, file), 'utf8')
      return [...text.matchAll(/(?:from |import |import\()'([@a-z][^']*)'/g)]
        .map((match) => match[1] ?? '')
        .filter((name) => !name.startsWith('node:'))
        .map((name) =>
          name
            .split('/')
            .slice(0, name.startsWith('@') ? 2 : 1)
            .join('/'),
        )
        .filter((name) => !(name in manifest.dependencies))
        .map((name) => `${file} → ${name}`)
    })
    expect(strangers).toEqual([])
  })
})
