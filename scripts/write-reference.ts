// Writes the generated parts of docs/reference again: `npx node scripts/write-reference.ts`. A test fails while they
// are out of date.
import { writeFileSync } from 'node:fs'
import { referencePages } from './reference/reference-pages.ts'

for (const { path, text } of await referencePages()) {
  writeFileSync(path, text)
  console.log(path)
}
