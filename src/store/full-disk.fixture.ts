import { SluiceError } from '../foundation/errors.ts'
import { openSqliteStore } from './sqlite-store.ts'

// Run by a test in a process that may not write large files: writes until the store refuses, then reports what it saw.
const store = await openSqliteStore({ path: process.argv[2] ?? '' })
let acknowledged = 0
let firstRefusal = ''
while (firstRefusal === '' && acknowledged < 100_000) {
  try {
    await write(`n${acknowledged}`)
    acknowledged += 1
  } catch (error) {
    firstRefusal = codeOf(error)
  }
}
const laterRefusal = await write('later').then(() => 'none', codeOf)
const readable = store.list({ resource: 'configmaps' }).items.length
await store.close()
process.stdout.write(JSON.stringify({ acknowledged, firstRefusal, laterRefusal, readable }))

function write(name: string): Promise<unknown> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text: 'x'.repeat(2_000) } }
  return store.create({ resource: 'configmaps', namespace: 'default', name }, object)
}

function codeOf(error: unknown): string {
  return error instanceof SluiceError ? error.code : String(error)
}
