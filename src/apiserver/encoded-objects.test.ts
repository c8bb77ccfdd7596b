import { expect, it } from 'vitest'
import { EncodedObjects } from './encoded-objects.ts'

/** Counts how often it is written out. */
function counted(name: string, size = 10) {
  const object = { writes: 0, toJSON: () => ({ name, filler: 'x'.repeat(size), writes: ++object.writes }) }
  return object
}

it('writes an object once, alone, in lists and for all who watch', () => {
  const encoded = new EncodedObjects()
  const object = counted('a')
  const alone = Buffer.concat(encoded.body(object)).toString()
  expect(JSON.parse(alone)).toMatchObject({ name: 'a' })
  const list = Buffer.concat(encoded.body({ kind: 'List', metadata: {}, items: [object, object] })).toString()
  expect(list).toBe(`{"kind":"List","metadata":{},"items":[${alone.trim()},${alone.trim()}]}\n`)
  expect(object.writes).toBe(1)
  const line = encoded.line('ADDED', object)
  for (let watcher = 0; watcher < 100; watcher++) expect(encoded.line('ADDED', object)).toBe(line)
  expect(line.toString()).toMatch(/^\{"type":"ADDED","object":\{.*\}\}\n$/)
  expect(object.writes).toBe(2)
})

it('shows a list without items', () => {
  expect(Buffer.concat(new EncodedObjects().body({ kind: 'List', items: [] })).toString()).toBe(
    '{"kind":"List","items":[]}\n',
  )
})

it('forgets what nobody asks for when it has no room', () => {
  const encoded = new EncodedObjects()
  const used = counted('used')
  const unused = counted('unused')
  encoded.bytes(unused)
  const others = Array.from({ length: 40 }, (_, index) => counted(String(index), 900_000))
  for (const other of others) {
    encoded.bytes(used)
    encoded.bytes(other)
  }
  encoded.bytes(unused)
  expect([used.writes, unused.writes]).toEqual([1, 2])
})
