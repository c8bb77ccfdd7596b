// The store alone: durable writes per second one by one and together, opening a full file, and the crash loop.
//   node bench/store.ts [--writes 2000] [--crashes 200]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { openSqliteStore } from '../src/store/sqlite-store.ts'
import { inspect, writeAndKill } from '../tests/faults/crash-round.fixture.ts'
import { configMaps } from './bench-objects.ts'
import { RatioTable } from './ratio-table.ts'

const { values } = parseArgs({
  options: { writes: { type: 'string', default: '2000' }, crashes: { type: 'string', default: '0' } },
})
const writes = Number(values.writes)
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-store-'))
try {
  const bare = bareCommits()
  const table = new RatioTable('durable writes per second', 'higher')
  for (const together of [1, 16, 64]) {
    table.row(`${together} at once`, [
      { name: 'store', value: await writesPerSecond(together) },
      { name: 'bare commit', value: bare },
    ])
  }
  await open()
  if (Number(values.crashes) > 0) await crash(Number(values.crashes))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** What SQLite does with one small row and a sync per commit: the limit for a single writer. */
function bareCommits(): number {
  const database = new DatabaseSync(join(folder, 'bare.db'))
  database.exec(
    'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (v)',
  )
  const insert = database.prepare('INSERT INTO t VALUES (?)')
  const text = JSON.stringify(configMaps.make('a'))
  const startedAt = performance.now()
  for (let count = 0; count < writes; count += 1) insert.run(text)
  const rate = writes / ((performance.now() - startedAt) / 1000)
  database.close()
  return rate
}

async function writesPerSecond(together: number): Promise<number> {
  const store = await openSqliteStore({ path: join(folder, `${together}.db`) })
  let next = 0
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: together }, async () => {
      for (let index = next++; index < writes; index = next++) await store.create(keyOf(index), objectOf(index))
    }),
  )
  const rate = writes / ((performance.now() - startedAt) / 1000)
  await store.close()
  return rate
}

async function open(): Promise<void> {
  const path = join(folder, 'full.db')
  const full = await openSqliteStore({ path })
  await Promise.all(Array.from({ length: 9_999 }, (_, index) => full.create(keyOf(index), objectOf(index))))
  await full.close()
  const startedAt = performance.now()
  const store = await openSqliteStore({ path })
  console.log(
    `opening ${store.list({ resource: 'configmaps' }).items.length} objects: ${Math.round(performance.now() - startedAt)} ms`,
  )
  await store.close()
}

async function crash(rounds: number): Promise<void> {
  const path = join(folder, 'crash.db')
  let revision = 0
  let acknowledged = 0
  for (let round = 0; round < rounds; round += 1) {
    const told = await writeAndKill(path, round, 1 + ((round * 37) % 400))
    const damage = await inspect(path, told, revision)
    if (damage.lost.length + damage.gaps.length > 0) throw new Error(`round ${round}: ${JSON.stringify(damage)}`)
    revision = damage.revision
    acknowledged += told.length
  }
  console.log(`${rounds} times killed in the middle of writing: ${acknowledged} acknowledged writes, none lost`)
}

function keyOf(index: number) {
  return { resource: 'configmaps', namespace: 'bench', name: `n${index}` }
}

function objectOf(index: number) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `n${index}` }, data: { text: 'x'.repeat(850) } }
}
