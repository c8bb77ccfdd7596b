import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { MemoryStore } from './memory-store.ts'
import { openSqliteStore } from './sqlite-store.ts'
import { storeContract } from './store.contract.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-store-'))
let files = 0

afterAll(() => rmSync(folder, { recursive: true }))

describe('MemoryStore', () => {
  storeContract((limits) => new MemoryStore(limits))
})

describe('SqliteStore', () => {
  storeContract((limits) => openSqliteStore({ ...limits, path: join(folder, `${(files += 1)}.db`) }))
})
