import { openSqliteStore } from './sqlite-store.ts'

// Run by a test that kills it: four writers at once, each printing a revision only after it was acknowledged.
const [path = '', round = ''] = process.argv.slice(2)
const store = openSqliteStore({ path, historyLimit: 200 })
process.stdout.write(`opened ${store.revision}\n`)

async function writeOn(writer: number): Promise<never> {
  for (let count = 0; ; count += 1) {
    const name = `r${round}-w${writer}-n${count}`
    const key = { resource: 'configmaps', namespace: 'default', name }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text: 'x'.repeat(500) } }
    const { revision } = await store.create(key, object)
    process.stdout.write(`${revision} ${name}\n`)
  }
}

await Promise.all([1, 2, 3, 4].map(writeOn))
