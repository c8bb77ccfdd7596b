import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { customKinds } from '../src/resources/all-kinds.ts'
import { customResourceFile } from '../src/resources/custom-resource-file.ts'

// Writes the CustomResourceDefinitions of the chart. Run it after changing a kind; a test fails while they are out of
// date.
const folder = join(import.meta.dirname, '..', 'charts', 'sluice', 'crds')
mkdirSync(folder, { recursive: true })
for (const kind of customKinds) {
  const { name, text } = customResourceFile(kind)
  writeFileSync(join(folder, name), text)
  console.log(`charts/sluice/crds/${name}`)
}
