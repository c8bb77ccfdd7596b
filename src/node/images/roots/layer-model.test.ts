import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { StreamSource } from '../tar/byte-source.ts'
import { unpackLayer } from './layer-unpack.ts'
import { RootFiles } from './root-files.ts'
import { readTar } from '../tar/tar-reader.ts'
import { type WrittenEntry, file, folder, hardLink, symlink, writeTar } from '../tar/tar-writer.fixture.ts'
import { UnpackBudget, usualLimits } from '../tar/unpack-budget.ts'

const scratch = mkdtempSync(join(tmpdir(), 'sluice-model-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** What is at each path: `dir`, `file <content>` or `link <target>`. */
type Tree = ReadonlyMap<string, string>

type Operation =
  | { readonly kind: 'file' | 'folder' | 'symlink' | 'gone'; readonly path: string; readonly text: string }
  | { readonly kind: 'link'; readonly path: string; readonly to: string }
  | { readonly kind: 'opaque'; readonly path: string }

const parentsOf = (path: string) =>
  path
    .split('/')
    .slice(0, -1)
    .map((_, index, all) => all.slice(0, index + 1).join('/'))
const isBelow = (path: string, above: string) => above === '' || path.startsWith(`${above}/`)
const without = (tree: Tree, gone: (path: string) => boolean): Map<string, string> =>
  new Map([...tree].filter(([path]) => !gone(path)))

function put(tree: Tree, path: string, what: string): Map<string, string> {
  const keeps = what === 'dir' && tree.get(path) === 'dir'
  const next = keeps ? new Map(tree) : without(tree, (other) => other === path || isBelow(other, path))
  for (const parent of parentsOf(path)) if (!next.has(parent)) next.set(parent, 'dir')
  return next.set(path, what)
}

/**
 * Whether an archive of a real tree could contain this operation: nothing is inside a file, and hard links lead to
 * files of the layer.
 */
function isPossible(operation: Operation, now: Tree, own: ReadonlySet<string>): boolean {
  const isFolder = (path: string) => (now.get(path) ?? 'dir') === 'dir'
  if (!parentsOf(operation.path).every(isFolder)) return false
  if (operation.kind === 'opaque') return operation.path === '' || isFolder(operation.path)
  if (operation.kind !== 'link') return true
  const { path, to } = operation
  return own.has(to) && now.get(to)?.startsWith('file') === true && to !== path && !isBelow(to, path)
}

/**
 * The OCI specification's model: first the whiteouts remove what is from the layers below, then the layer's entries are
 * added.
 */
function applyModel(
  lower: Tree,
  operations: readonly Operation[],
): { readonly tree: Tree; readonly entries: WrittenEntry[] } {
  let remains = new Map(lower)
  let now = new Map(lower)
  const own = new Set<string>()
  const kept: Operation[] = []
  for (const operation of operations) {
    if (!isPossible(operation, now, own)) continue
    kept.push(operation)
    const { path } = operation
    if (operation.kind === 'gone') remains = without(remains, (other) => other === path || isBelow(other, path))
    else if (operation.kind === 'opaque') remains = without(remains, (other) => isBelow(other, path))
    else {
      now = put(now, path, whatOf(operation, now))
      own.add(path)
    }
  }
  let tree: Tree = remains
  for (const operation of kept) {
    if (operation.kind !== 'gone' && operation.kind !== 'opaque')
      tree = put(tree, operation.path, whatOf(operation, tree))
  }
  return { tree, entries: kept.map(entryOf) }
}

function whatOf(operation: Exclude<Operation, { kind: 'opaque' }>, tree: Tree): string {
  switch (operation.kind) {
    case 'file':
      return `file ${operation.text}`
    case 'folder':
    case 'gone':
      return 'dir'
    case 'symlink':
      return `link ${operation.text}`
    default:
      return tree.get(operation.to) ?? 'nothing'
  }
}

function entryOf(operation: Operation): WrittenEntry {
  const { path } = operation
  const cut = path.lastIndexOf('/') + 1
  switch (operation.kind) {
    case 'file':
      return file(path, operation.text)
    case 'folder':
      return folder(`./${path}/`)
    case 'symlink':
      return symlink(path, operation.text)
    case 'link':
      return hardLink(path, operation.to)
    case 'gone':
      return file(`${path.slice(0, cut)}.wh.${path.slice(cut)}`)
    default:
      return file(join(path, '.wh..wh..opq'))
  }
}

function treeOf(root: string, below = ''): Tree {
  return new Map(
    readdirSync(join(root, below)).flatMap((name) => {
      const path = join(below, name)
      const whole = join(root, path)
      const facts = lstatSync(whole)
      if (facts.isDirectory()) return [[path, 'dir'], ...treeOf(root, path)]
      return [[path, facts.isSymbolicLink() ? `link ${readlinkSync(whole)}` : `file ${readFileSync(whole, 'utf8')}`]]
    }),
  )
}

const path = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'))
const text = fc.constantFrom('x', 'y', '../a', '/b/c')
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('file' as const, 'folder' as const), path, text }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('symlink' as const), path, text }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('link' as const), path, to: path }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('gone' as const), path, text }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('opaque' as const), path: fc.oneof(path, fc.constant('')) }) },
)

describe('layers over layers', () => {
  it('become the tree that the specification of OCI describes', async () => {
    const layers = fc.array(fc.array(operation, { maxLength: 14 }), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(layers, async (written) => {
        const root = mkdtempSync(join(scratch, 'root-'))
        mkdirSync(root, { recursive: true })
        let model: Tree = new Map()
        for (const operations of written) {
          const { tree, entries } = applyModel(model, operations)
          const pieces = async function* () {
            yield writeTar(entries)
          }
          const { signal } = new AbortController()
          const notes = { devices: 0, fifos: 0, capabilities: 0 }
          const target = { root, files: new RootFiles(false), budget: new UnpackBudget(usualLimits), notes, signal }
          await unpackLayer(readTar(new StreamSource(pieces())), target)
          model = tree
        }
        expect(Object.fromEntries(treeOf(root))).toEqual(Object.fromEntries(model))
        rmSync(root, { recursive: true })
      }),
      { numRuns: 150 },
    )
  })
})
