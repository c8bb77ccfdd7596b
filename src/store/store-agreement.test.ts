import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { MemoryStore } from './memory-store.ts'
import { openSqliteStore } from './sqlite-store.ts'
import { type Store, StoreCompacted, StoreConflict, type StoreEvent, type StoredObject } from './store.ts'
import { keyOf, objectOf } from './store.contract.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-agreement-'))
afterAll(() => rmSync(folder, { recursive: true }))

const key = fc
  .record({ name: fc.constantFrom('a', 'a-b', 'b'), namespace: fc.constantFrom('', 'x', 'x-y') })
  .map(({ name, namespace }) => keyOf(name, namespace))

/** `age` says how stale the expected revision is: mostly current, sometimes not. */
const write = fc.oneof(
  fc.record({ type: fc.constant('create' as const), key, value: fc.string() }),
  fc.record({ type: fc.constant('update' as const), key, value: fc.string(), age: fc.constantFrom(0, 0, 0, 1) }),
  fc.record({ type: fc.constant('delete' as const), key, age: fc.constantFrom(undefined, 0, 1) }),
)
type Write = typeof write extends fc.Arbitrary<infer T> ? T : never
/**
 * Writes of a group arrive together; the groups of a flight come in turns of their own, before any of it is durable.
 */
const group = fc.array(write, { minLength: 1, maxLength: 4 })
const flights = fc.array(fc.array(group, { minLength: 1, maxLength: 6 }), { maxLength: 8 })

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/**
 * Performs a flight. Each write expects what memory had before its group: memory writes at once, SQLite when the disk
 * has it.
 */
async function performInFlight(model: Store, store: Store, flight: ReadonlyArray<readonly Write[]>): Promise<void> {
  const expected: Array<Promise<string>> = []
  const actual: Array<Promise<string>> = []
  for (const operations of flight) {
    const before = operations.map((operation) => model.get(operation.key)?.revision ?? 0)
    for (const [outcomes, target] of [
      [expected, model],
      [actual, store],
    ] as const) {
      for (const [index, operation] of operations.entries()) {
        outcomes.push(perform(target, operation, before[index] ?? 0))
      }
    }
    await nextTurn()
  }
  expect(await Promise.all(actual)).toEqual(await Promise.all(expected))
}

function perform(store: Store, operation: Write, current: number): Promise<string> {
  return send(store, operation, current).then(
    (stored) => JSON.stringify(stored),
    (error: unknown) => (error instanceof StoreConflict ? error.reason : Promise.reject(error)),
  )
}

function send(store: Store, operation: Write, current: number): Promise<StoredObject> {
  if (operation.type === 'delete') {
    return store.delete(operation.key, operation.age === undefined ? undefined : current - operation.age)
  }
  const object = objectOf(operation.key.name, operation.value)
  if (operation.type === 'create') return store.create(operation.key, object)
  return store.update(operation.key, object, current - operation.age)
}

/** Everything that can be seen of a store, now and from each past revision. */
async function appearance(store: Store): Promise<unknown> {
  const lists = [undefined, '', 'x', 'x-y'].map((namespace) => store.list({ resource: 'configmaps', namespace }))
  const histories: unknown[] = []
  for (let from = 0; from <= store.revision; from += 1) histories.push(await historyFrom(store, from))
  return { revision: store.revision, lists, histories }
}

async function historyFrom(store: Store, from: number): Promise<unknown> {
  const events: StoreEvent[] = []
  const controller = new AbortController()
  if (from === store.revision) return events
  try {
    for await (const event of store.watch({ resource: 'configmaps' }, from, controller.signal)) {
      events.push(event)
      if (event.revision === store.revision) controller.abort()
    }
  } catch (error) {
    if (error instanceof StoreCompacted) return { compacted: error.oldestRevision }
    throw error
  }
  return events
}

describe('the two stores', () => {
  it('agree on any sequence of operations, also after the file is opened again', async () => {
    let files = 0
    await fc.assert(
      fc.asyncProperty(flights, fc.constantFrom(4, 1_000), async (sequence, historyLimit) => {
        const path = join(folder, `${(files += 1)}.db`)
        const memory = new MemoryStore({ historyLimit })
        let sqlite = await openSqliteStore({ path, historyLimit })
        try {
          // Small histories are compared write by write, because writes that are committed together are compacted once,
          // at the end.
          const steps = historyLimit > 100 ? sequence : sequence.flat(2).map((operation) => [[operation]])
          for (const flight of steps) await performInFlight(memory, sqlite, flight)
          const expected = await appearance(memory)
          expect(await appearance(sqlite)).toEqual(expected)
          await sqlite.close()
          sqlite = await openSqliteStore({ path, historyLimit })
          expect(await appearance(sqlite)).toEqual(expected)
        } finally {
          await sqlite.close()
        }
      }),
      { numRuns: 30 },
    )
  }, 60_000)
})
