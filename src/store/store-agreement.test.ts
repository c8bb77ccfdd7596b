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

/** `age` says how stale the expected revision is: mostly right, sometimes not. */
const write = fc.oneof(
  fc.record({ type: fc.constant('create' as const), key, value: fc.string() }),
  fc.record({ type: fc.constant('update' as const), key, value: fc.string(), age: fc.constantFrom(0, 0, 0, 1) }),
  fc.record({ type: fc.constant('delete' as const), key, age: fc.constantFrom(undefined, 0, 1) }),
)
type Write = typeof write extends fc.Arbitrary<infer T> ? T : never
/** Writes of one group arrive together. */
const groups = fc.array(fc.array(write, { minLength: 1, maxLength: 4 }), { maxLength: 25 })

/** All of a group, each expecting what was there before the group: memory writes at once, SQLite when the group is in. */
function performTogether(store: Store, operations: readonly Write[]): Promise<string[]> {
  const before = operations.map((operation) => store.get(operation.key)?.revision ?? 0)
  return Promise.all(operations.map((operation, index) => perform(store, operation, before[index] ?? 0)))
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

/** Everything that can be seen of a store, now and from each revision of the past. */
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
      fc.asyncProperty(groups, fc.constantFrom(4, 1_000), async (sequence, historyLimit) => {
        const path = join(folder, `${(files += 1)}.db`)
        const memory = new MemoryStore({ historyLimit })
        let sqlite = await openSqliteStore({ path, historyLimit })
        try {
          for (const group of sequence) {
            // Small histories are compared write by write: a group is compacted once, at its end.
            const together = historyLimit > 100 ? [group] : group.map((operation) => [operation])
            for (const operations of together) {
              expect(await performTogether(sqlite, operations)).toEqual(await performTogether(memory, operations))
            }
          }
          const expected = await appearance(memory)
          expect(await appearance(sqlite)).toEqual(expected)
          await sqlite.close()
          sqlite = await openSqliteStore({ path, historyLimit })
          expect(await appearance(sqlite)).toEqual(expected)
        } finally {
          await sqlite.close()
        }
      }),
      { numRuns: 60 },
    )
  })
})
