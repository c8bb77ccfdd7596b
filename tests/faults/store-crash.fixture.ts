import { openSqliteStore } from '../../src/store/sqlite-store.ts'

// A program for a test that kills it. Several writers create, update and delete a few objects of their own in turn.
// Each prints what it did only after it was acknowledged: `REVISION NAME VALUE`, where VALUE is `-` for a deletion.
const [path = '', round = '', writers = '16'] = process.argv.slice(2)
const store = await openSqliteStore({ path, historyLimit: 2_000 })
process.stdout.write(`opened ${store.revision}\n`)

async function writeOn(writer: number): Promise<never> {
  for (let count = 0; ; count += 1) {
    const name = `w${writer}-${count % 3}`
    const key = { resource: 'configmaps', namespace: 'default', name }
    const value = `${round}.${writer}.${count}`
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value, text: 'x'.repeat(500) } }
    const current = store.get(key)
    const deleting = current && count % 7 === 0
    const done = !current
      ? store.create(key, object)
      : deleting
        ? store.delete(key, current.revision)
        : store.update(key, object, current.revision)
    const { revision } = await done
    process.stdout.write(`${revision} ${name} ${deleting ? '-' : value}\n`)
  }
}

await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => writeOn(writer)))
