import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
const quoted = [...page.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '')
/** Everything that looks like a file or folder of the repository, anywhere in a command. */
const paths = quoted
  .flatMap((text) => text.split(' '))
  .filter((word) => /^(?:src|tests|docs|bench|scripts|charts|web)\/[\w./-]+$/.test(word))
  .filter((word) => !word.includes('ROOM'))

describe('docs/explanation/architecture.md', () => {
  it('shows newcomers to folders and files that are there', () => {
    const table =
      readFileSync(join(root, 'docs/explanation/architecture.md'), 'utf8')
        .split('### Where it is')[1]
        ?.split('\n## ')[0] ?? ''
    const shown = [...table.matchAll(/`([a-z-]+(?:\/[a-z.-]+)*)`/g)].map((match) => match[1] ?? '')
    const places = shown.filter((name) => name.includes('/'))
    expect(places.length).toBeGreaterThan(20)
    expect(places.filter((name) => !existsSync(join(root, 'src', name)))).toEqual([])
  })

  it('leaves no folder of the API server out', () => {
    const page = readFileSync(join(root, 'docs/explanation/architecture.md'), 'utf8')
    const folders = readdirSync(join(root, 'src/apiserver'), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    )
    const forTests = ['hostile-inputs', 'test-support']
    const left = folders.map(({ name }) => name).filter((name) => !page.includes(`apiserver/${name}`))
    expect(left.filter((name) => !forTests.includes(name))).toEqual([])
  })
})

describe('CONTRIBUTING.md', () => {
  it('names only files and folders that are there', () => {
    expect(paths.length).toBeGreaterThan(25)
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  it('has a recipe for whatever is added most often', () => {
    const recipes = [...page.matchAll(/^### (.+)$/gm)].map((match) => match[1])
    expect(recipes).toEqual([
      'A kind of Kubernetes',
      'A kind of ours',
      'An engine',
      'A route of the gateway',
      'An error',
      'A metric',
      'A command',
      'A bench',
    ])
  })

  it('names each field of a row and each list by the name it has', () => {
    const kind = readFileSync(join(root, 'src/resources/kind.ts'), 'utf8')
    const facts = ['types', 'complete', 'initialStatus', 'validate', 'immutable', 'selectableFields', 'subresources']
    for (const fact of [...facts, 'scale', 'deletion', 'celRules']) {
      expect(page).toContain(`\`${fact}\``)
      expect(kind).toMatch(new RegExp(`^  (?:readonly )?${fact}\\?[:(]`, 'm'))
    }
    const lists = readFileSync(join(root, 'src/resources/all-kinds.ts'), 'utf8')
    for (const list of ['coreKinds', 'customKinds']) expect(lists).toContain(`export const ${list}:`)
  })
})
