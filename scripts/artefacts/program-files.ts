import { readFileSync, readdirSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import type { FileTree } from './file-tree.ts'
import { enginePlace } from '../../bin/built-engine.mjs'
import { withDigest } from '../build-engine.ts'
import { root } from './repository.ts'

/** Not part of the program: tests and what only they use. */
const forTests = /\.(test|fixture|contract|bench)\.ts$|(^|\/)(test-support|hostile-inputs|contract)\//

/**
 * Adds the program as plain JavaScript: Node takes no TypeScript from below `node_modules`, and what is compiled
 * already starts faster. Types become blanks, so lines and columns of stack traces are those of the source.
 */
export function addProgram(tree: FileTree, to: string): void {
  const at = (path: string) => (to === '' ? path : `${to}/${path}`)
  for (const path of readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
    const source = join(root, 'src', path)
    if (path.endsWith('.ts')) {
      if (forTests.test(path)) continue
      tree.addText(at(`src/${path.slice(0, -'.ts'.length)}.js`), compiled(readFileSync(source, 'utf8')))
    } else if (/\.(json|pl)$/.test(path)) tree.addFile(at(`src/${path}`), source)
  }
  tree.addText(at('bin/sluice.mjs'), withCompiledNames(readFileSync(join(root, 'bin/sluice.mjs'), 'utf8')))
  tree.addFile(at('bin/built-engine.mjs'), join(root, 'bin/built-engine.mjs'))
  tree.addFile(at('bin/run-engine.mjs'), join(root, 'bin/run-engine.mjs'))
  tree.addText(at('bin/dist/engine.cjs'), withDigest(withCompiledNames(readFileSync(enginePlace, 'utf8'))))
  tree.addText(at('bin/dist/engine-sources.json'), '[]')
  tree.addFile(at('bin/sluice'), join(root, 'bin/sluice'))
  for (const page of ['web/dist', 'web/console/dist']) tree.addAll(at(page), join(root, page))
  tree.addFile(at('LICENSE'), join(root, 'LICENSE'))
}

function compiled(text: string): string {
  return withCompiledNames(stripTypeScriptTypes(text))
}

/** Imports and the programs of threads are named by their files. */
function withCompiledNames(text: string): string {
  return text.replaceAll(/(['"])([^'"\s]+)\.ts\1/g, '$1$2.js$1')
}
