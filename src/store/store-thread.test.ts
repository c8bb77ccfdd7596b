import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type SqliteStore, type StoreTrouble, openSqliteStore } from './sqlite-store.ts'
import { type StepAction, StepGate, type ThreadStep } from './sqlite-file/step-gate.ts'
import { StoreConflict, type StoreEvent } from './store.ts'
import { keyOf, objectOf } from './store.contract.ts'

let folder: string
let path: string
let gate: StepGate
let store: SqliteStore
const troubles: StoreTrouble[] = []
let onLost = Promise.withResolvers<void>()
let onBack = Promise.withResolvers<void>()

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-thread-'))
  path = join(folder, 'sluice.db')
  gate = new StepGate()
  troubles.length = 0
  onLost = Promise.withResolvers()
  onBack = Promise.withResolvers()
  const onTrouble = (trouble: StoreTrouble) => {
    troubles.push(trouble)
    if (trouble.type === 'lost') onLost.resolve()
    if (trouble.type === 'back') onBack.resolve()
  }
  store = await openSqliteStore({ path, gate, onTrouble })
})

afterEach(async () => {
  gate.release()
  await store.close()
  rmSync(folder, { recursive: true })
})

const outcomeOf = (writing: Promise<{ readonly revision: number }>): Promise<string> =>
  writing.then(
    ({ revision }) => String(revision),
    (error: unknown) =>
      error instanceof StoreConflict ? error.reason : String((error as { readonly code?: string }).code),
  )

function collect(from: number, until: number): Promise<string[]> {
  return (async () => {
    const seen: string[] = []
    const enough = new AbortController()
    for await (const event of store.watch({ resource: 'configmaps' }, from, enough.signal)) {
      seen.push(nameOf(event))
      if (event.revision >= until) enough.abort()
    }
    return seen
  })()
}

const nameOf = ({ revision, type, key }: StoreEvent) => `${revision} ${type} ${key.name}`
const create = (name: string) => store.create(keyOf(name), objectOf(name))
const update = (name: string, expected: number) => store.update(keyOf(name), objectOf(name, 'new'), expected)

describe('a store whose disk takes its time', () => {
  it('goes on reading, lets writes wait, and shows and acknowledges them in order when they are durable', async () => {
    await create('a')
    gate.arm('inserted')
    const live = collect(1, 5)
    const first = create('b')
    await gate.reached()
    // Decided on top of what is being written; in several turns, so that they go in several batches.
    const later = [update('a', 1)]
    await new Promise((resolve) => setImmediate(resolve))
    later.push(update('a', 2), store.delete(keyOf('b')))
    await new Promise((resolve) => setImmediate(resolve))
    const conflicts = [create('c'), create('c'), update('b', 2)].map(outcomeOf)
    expect(store.get(keyOf('a'))?.revision).toBe(1)
    expect(store.list({ resource: 'configmaps' }).revision).toBe(1)
    expect(store.get(keyOf('b'))).toBeUndefined()
    expect(store.waitingWrites).toBe(7)
    gate.release()
    expect(await Promise.all([first, ...later].map(outcomeOf))).toEqual(['2', '3', 'changed', '4'])
    expect(await Promise.all(conflicts)).toEqual(['5', 'exists', 'missing'])
    expect(await live).toEqual(['2 created b', '3 updated a', '4 deleted b', '5 created c'])
    expect(store.waitingWrites).toBe(0)
  })

  it('tells of a conflict with a write only when that write is there for everybody', async () => {
    gate.arm('inserted')
    const first = create('a')
    await gate.reached()
    let told = ''
    const second = outcomeOf(create('a')).then((outcome) => (told = outcome))
    await new Promise((resolve) => setImmediate(resolve))
    expect(told).toBe('')
    gate.release()
    await first
    await second
    expect([told, store.get(keyOf('a'))?.revision]).toEqual(['exists', 1])
  })

  it('takes no more than so many writes, and no more than so many bytes of them', async () => {
    gate.arm('received')
    const taken = [create('first')]
    await gate.reached()
    for (let index = 1; index < 10_000; index += 1) taken.push(create(`n${index}`))
    expect(await outcomeOf(create('too many'))).toBe('store_overloaded')
    gate.release()
    await Promise.all(taken)
    gate.arm('received')
    const large = ['a', 'b', 'c', 'd'].map((name) => store.create(keyOf(name), objectOf(name, 'x'.repeat(9_000_000))))
    expect(await outcomeOf(create('too large'))).toBe('store_overloaded')
    gate.release()
    await Promise.all(large)
    expect(await outcomeOf(create('again'))).toBe('10005')
  })

  it('has no gap and no duplicate in a watch from the past that begins while writes are on their way', async () => {
    for (const name of ['a', 'b', 'c']) await create(name)
    gate.arm('committed')
    const writing = create('d')
    await gate.reached()
    const watches = [collect(0, 6), collect(2, 6), collect(3, 6)]
    const more = create('e')
    gate.release()
    await writing
    await Promise.all([more, create('f')])
    const all = ['1 created a', '2 created b', '3 created c', '4 created d', '5 created e', '6 created f']
    expect(await Promise.all(watches)).toEqual([all, all.slice(2), all.slice(3)])
  })

  it('ends a watch at once that waits for the past', async () => {
    await create('a')
    gate.arm('received')
    const writing = create('b')
    await gate.reached()
    const enough = new AbortController()
    const next = store.watch({ resource: 'configmaps' }, 0, enough.signal)[Symbol.asyncIterator]().next()
    enough.abort()
    expect((await next).done).toBe(true)
    gate.release()
    await writing
  })
})

describe('a store whose thread is lost', () => {
  const ends: ReadonlyArray<readonly [StepAction, ThreadStep, 'made' | 'not made']> = [
    ['exit', 'received', 'not made'],
    ['exit', 'inserted', 'not made'],
    ['exit', 'committed', 'made'],
    ['exit', 'told', 'made'],
    ['throw', 'received', 'not made'],
    ['throw', 'told', 'made'],
    ['exhaust memory', 'inserted', 'not made'],
    ['exhaust memory', 'committed', 'made'],
  ]

  it.each(ends)(
    'by "%s" when it has %s a commit tells who waits that the writes were %s, and goes on',
    async (action, step, outcome) => {
      await create('kept')
      // Answered by the thread, so it is done with that write.
      await collect(0, 1)
      const live = collect(0, outcome === 'made' ? 4 : 2)
      gate.arm(step, action)
      void store.gather()
      const writing = [create('a'), update('kept', 1)].map(outcomeOf)
      await onBack.promise
      expect(await Promise.all(writing)).toEqual(
        outcome === 'made' ? ['2', '3'] : ['store_interrupted', 'store_interrupted'],
      )
      expect(store.failure).toBeUndefined()
      expect(store.get(keyOf('kept'))?.revision).toBe(outcome === 'made' ? 3 : 1)
      expect(await outcomeOf(create('next'))).toBe(outcome === 'made' ? '4' : '2')
      const made = outcome === 'made' ? ['2 created a', '3 updated kept', '4 created next'] : ['2 created next']
      expect(await live).toEqual(['1 created kept', ...made])
      expect(await collect(0, store.revision)).toEqual(['1 created kept', ...made])
      expect(troubles.map(({ type }) => type)).toEqual(['lost', 'back'])
    },
  )

  it('refuses writes by name until it is back, and goes on reading', async () => {
    await create('kept')
    gate.arm('received', 'exit')
    const lost = outcomeOf(create('a'))
    await gate.reached()
    await onLost.promise
    expect(store.failure?.code).toBe('store_interrupted')
    expect(await outcomeOf(create('b'))).toBe('store_interrupted')
    expect(store.get(keyOf('kept'))?.revision).toBe(1)
    await onBack.promise
    expect(await lost).toBe('store_interrupted')
    expect(await outcomeOf(create('b'))).toBe('2')
  })
})
