import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { dirname, extname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'
import { headingAnchors, linkTargets } from './support/markdown.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
/** What belongs to nobody's checkout: installed, built, or made by tests. */
const notOurs = /(?:^|\/)(?:node_modules|dist|\.git|\.test-results|\.sluice|\.gpu-binaries)(?:\/|$)/
const everything = ['bench', 'charts', 'docs', 'examples', 'scripts', 'src', 'tests', 'web']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .concat(readdirSync(root))
  .filter((path) => !notOurs.test(path) && statSync(join(root, path)).isFile())
const pages = everything.filter((path) => extname(path) === '.md')

interface Link {
  readonly page: string
  readonly target: string
  /** The file or folder of the repository that it leads to. */
  readonly path: string
  readonly anchor: string
}

/** Links into the repository; those to other places need a network to be checked. */
const links: Link[] = pages.flatMap((page) =>
  linkTargets(read(page))
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = '', anchor = ''] = target.split('#')
      return { page, target, path: path === '' ? page : normalize(join(dirname(page), path)), anchor }
    }),
)
const shown = (wrong: readonly Link[]) => wrong.map(({ page, target }) => `${page}: ${target}`)

describe('links of all pages', () => {
  it('lead to files, pictures and folders that are there', () => {
    expect(links.length).toBeGreaterThan(100)
    expect(shown(links.filter(({ path }) => path.startsWith('..') || !existsSync(join(root, path))))).toEqual([])
  })

  it('lead to headings that are there', () => {
    const withAnchor = links.filter(({ anchor, path }) => anchor !== '' && extname(path) === '.md')
    const lost = withAnchor.filter(({ path, anchor }) => !headingAnchors(read(path)).includes(anchor))
    expect(shown(lost)).toEqual([])
  })
})

describe('headings', () => {
  it('are called as GitHub calls them, whatever is in them', () => {
    const page =
      '# A, b: `c.d`!\n\n```sh\n# no heading\n```\n\n## A b c.d\n\n## A b cd\n\n### [Ünder_score](x.md) – 2 × 3\n'
    expect(headingAnchors(page)).toEqual(['a-b-cd', 'a-b-cd-1', 'a-b-cd-2', 'ünder_score--2--3'])
  })
})

describe('pages of docs/', () => {
  it('can all be reached from the README or the index, and so can pictures', () => {
    const reached = new Set(['README.md', 'docs/README.md'])
    for (const page of reached) {
      for (const link of links) if (link.page === page) reached.add(pageOf(link.path))
    }
    const files = everything.filter((path) => path.startsWith('docs/'))
    expect(files.length).toBeGreaterThan(50)
    expect(files.filter((path) => !reached.has(path))).toEqual([])
  })

  it('have small pictures', () => {
    const pictures = everything.filter((path) => path.startsWith('docs/pictures/'))
    expect(pictures.length).toBeGreaterThan(3)
    expect(pictures.filter((path) => statSync(join(root, path)).size > 150 * 1024)).toEqual([])
  })

  it('are there wherever code or text names one', () => {
    const texts = everything.filter((path) => /\.(?:ts|tsx|mjs|md|ya?ml|json|tpl|txt)$/.test(path))
    const named = texts.flatMap((path) =>
      [...read(path).matchAll(/(?<![\w/])docs\/[\w./-]+\.md/g)].map(([name]) => ({ path, name })),
    )
    const lost = named.filter(({ name }) => !existsSync(join(root, name)))
    expect(lost.map(({ path, name }) => `${path}: ${name}`)).toEqual([])
  })
})

/** A link to a folder shows its README. */
function pageOf(path: string): string {
  const folder = existsSync(join(root, path)) && statSync(join(root, path)).isDirectory()
  return folder ? join(path, 'README.md') : path
}
