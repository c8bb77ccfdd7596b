import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { format } from 'oxfmt'
import { commandSections } from './command-page.ts'
import { managementSections } from './management-page.ts'
import { resourceSections } from './resource-page.ts'

const folder = fileURLToPath(new URL('../../docs/reference/', import.meta.url))
const begin = '<!-- What follows is written by scripts/write-reference.ts. -->'

/** The pages that are written from the code, as they should be: what people wrote, and below it what is generated. */
export async function referencePages(): Promise<Array<{ readonly path: string; readonly text: string }>> {
  const sections = {
    'commands.md': commandSections(),
    'resources.md': resourceSections(),
    'management-api.md': managementSections(),
  }
  return Promise.all(
    Object.entries(sections).map(async ([name, generated]) => {
      const path = `${folder}${name}`
      const [written = ''] = readFileSync(path, 'utf8').split(begin)
      const { code } = await format(name, `${written.trimEnd()}\n\n${begin}\n\n${generated}\n`)
      return { path, text: code }
    }),
  )
}
