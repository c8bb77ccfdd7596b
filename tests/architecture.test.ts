import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const src = fileURLToPath(new URL('../src', import.meta.url))

/** Who may import whom. Everyone may import foundation and itself. */
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
    'relay',
    'gateway',
    'exposure',
    'management',
    'dns',
    'engine',
  ],
  cli: ['platform', 'engine', 'resources'],
}

/** The embedded client is the one file of `cluster` that knows the embedded cluster. */
const exceptions: Record<string, readonly string[]> = { 'cluster/embedded-client.ts': ['store', 'apiserver'] }

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
const production = files.filter((name) => !/\.(test|contract|fixture)\.ts$/.test(name))

function importsOf(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8')
  const found = [...text.matchAll(/(?:from |import |import\()'(\.{1,2}\/[^']+)'/g)].map((match) => match[1] ?? '')
  return found.map((path) => relative(src, resolve(src, dirname(file), path)))
}

const roomOf = (path: string) => path.split('/')[0] ?? ''

/** Rooms in which no file imports itself, however far around; types count. */
const withoutCircles = ['foundation', 'resources', 'store', 'apiserver', 'cluster']

/** The way from a file back to itself, where there is one. */
function circleOf(start: string, imports: ReadonlyMap<string, readonly string[]>): string[] {
  const from = new Map<string, string>()
  const waiting = [start]
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    for (const next of imports.get(file) ?? []) {
      if (next === start) return wayTo(file, from)
      if (from.has(next)) continue
      from.set(next, file)
      waiting.push(next)
    }
  }
  return []
}

function wayTo(end: string, from: ReadonlyMap<string, string>): string[] {
  const way: string[] = []
  for (let file: string | undefined = end; file !== undefined; file = from.get(file)) way.unshift(file)
  return way
}

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

  it('have no circles of imports inside', () => {
    const imports = new Map(production.map((file) => [file, importsOf(file)]))
    const circles = production
      .filter((file) => withoutCircles.includes(roomOf(file)))
      .map((file) => circleOf(file, imports).join(' → '))
    expect(circles.filter((circle) => circle !== '')).toEqual([])
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
