import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { FileTree } from './file-tree.ts'
import { foldersOf, lockedPackages } from './production-packages.ts'
import { addProgram } from './program-files.ts'
import { artefactTime, program, root } from './repository.ts'
import { tarArchive } from './tar-archive.ts'

/** What `npm install FILE` takes: the compiled program, which brings exactly the packages that it is tested with. */
export function npmPackage(): Buffer {
  const { name, version, description, license, engines, dependencies, bin } = program
  const manifest = { name, version, description, license, type: 'module', bin, engines, dependencies }
  const tree = new FileTree()
  addProgram(tree, 'package')
  tree.addText('package/package.json', json(manifest))
  tree.addText('package/npm-shrinkwrap.json', json(shrinkwrap(manifest)))
  tree.addText('package/README.md', readFileSync(join(root, 'README.md'), 'utf8'))
  tree.addAll('package/charts', join(root, 'charts'))
  return gzipSync(tarArchive(tree, artefactTime), { level: 9 })
}

/** Also for machines of other kinds: npm takes what fits the machine. */
function shrinkwrap(manifest: { readonly name: string; readonly version: string }): object {
  const folders = foldersOf(Object.keys(program.dependencies), { everywhere: true })
  const packages = [...folders].toSorted().map((folder) => [folder, lockedPackages[folder]])
  const { name, version } = manifest
  return {
    name,
    version,
    lockfileVersion: 3,
    requires: true,
    packages: { '': manifest, ...Object.fromEntries(packages) },
  }
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}
