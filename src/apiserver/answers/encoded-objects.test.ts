import { expect, it } from 'vitest'
import { EncodedObjects } from './encoded-objects.ts'

/** An object that counts how often it is encoded. */
function counted(name: string, size = 10) {
  const object = { writes: 0, toJSON: () => ({ name, filler: 'x'.repeat(size), writes: ++object.writes }) }
  return object
}

it('writes an object once, alone and for all who watch', () => {
  const encoded = new EncodedObjects()
  const object = counted('a')
  const alone = encoded.body(object).toString()
  expect(JSON.parse(alone)).toMatchObject({ name: 'a' })
  expect(encoded.bytes(object).toString()).toBe(alone.trim())
  expect(object.writes).toBe(1)
  const line = encoded.line('ADDED', object)
  for (let watcher = 0; watcher < 100; watcher++) expect(encoded.line('ADDED', object)).toBe(line)
  expect(line.toString()).toMatch(/^\{"type":"ADDED","object":\{.*\}\}\n$/)
  expect(object.writes).toBe(2)
})

it('keeps a list that was encoded to its end, and of several at once the latest', () => {
  const encoded = new EncodedObjects()
  const [one, other] = [[{}], [{}]]
  const overtaken = encoded.gatherList(one)
  const latest = encoded.gatherList(other)
  for (const list of [overtaken, latest]) list.add(Buffer.from('{}'))
  overtaken.keep()
  latest.keep()
  expect([encoded.list(one), encoded.list(other)?.toString()]).toEqual([undefined, '{}'])
  const large = encoded.gatherList(one)
  for (let piece = 0; piece < 20; piece++) large.add(Buffer.alloc(1024 * 1024))
  large.keep()
  expect(encoded.list(one)).toBeUndefined()
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
