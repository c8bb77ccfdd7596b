import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { z } from 'zod'
import { FileTree } from './file-tree.ts'
import { foldersOf, lockedPackages } from './production-packages.ts'
import { addProgram } from './program-files.ts'
import { artefactTime, program, root } from './repository.ts'
import { tarArchive } from './tar-archive.ts'

/**
 * It asks npm for builds of llama.cpp for every graphics card, a gigabyte that is not used unless somebody fetches it
 * on purpose, and npm lets nobody leave out what a package's packages ask for. So it is brought along, without them.
 */
const bundled = 'node-llama-cpp'
const engineBuilds = ['@node-llama-cpp/linux-x64', '@node-llama-cpp/linux-arm64']
const isNeeded = (path: string) => !/\.(map|d\.[cm]?ts|tsbuildinfo)$/.test(path) && !/(^|\/)node_modules$/.test(path)

/** What `npm install FILE` takes: the compiled program, which brings exactly the packages that it is tested with. */
export function npmPackage(): Buffer {
  const { name, version, description, license, engines, bin } = program
  // npm fetches nothing for a package that is brought along, so what it needs is asked for here.
  const needed = lockedPackages[`node_modules/${bundled}`]?.dependencies ?? {}
  const pinned = Object.keys(needed).map((each) => [each, lockedPackages[`node_modules/${each}`]?.version])
  const dependencies = { ...program.dependencies, ...Object.fromEntries(pinned) }
  const manifest = {
    name,
    version,
    description,
    license,
    type: 'module',
    bin,
    engines,
    dependencies,
    optionalDependencies: Object.fromEntries(engineBuilds.map((build) => [build, program.dependencies[bundled]])),
    bundleDependencies: [bundled],
  }
  const tree = new FileTree()
  addProgram(tree, 'package')
  tree.addText('package/package.json', json(manifest))
  tree.addText('package/npm-shrinkwrap.json', json(shrinkwrap(manifest)))
  tree.addText('package/README.md', readFileSync(join(root, 'README.md'), 'utf8'))
  tree.addAll('package/charts', join(root, 'charts'))
  addBundled(tree)
  return gzipSync(tarArchive(tree, artefactTime), { level: 9 })
}

function addBundled(tree: FileTree): void {
  const source = join(root, 'node_modules', bundled)
  tree.addAll(`package/node_modules/${bundled}`, source, isNeeded)
  const its = bundledManifest.parse(JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')))
  const { optionalDependencies: _builds, devDependencies: _tools, scripts: _scripts, ...kept } = its
  tree.addText(`package/node_modules/${bundled}/package.json`, json(kept))
}

const bundledManifest = z.looseObject({
  optionalDependencies: z.unknown(),
  devDependencies: z.unknown(),
  scripts: z.unknown(),
})

/** Also for machines of other kinds: npm takes what fits the machine. */
function shrinkwrap(manifest: { readonly name: string; readonly version: string }): object {
  const isLeftOut = (folder: string) =>
    folder.includes('@node-llama-cpp/') && !engineBuilds.some((build) => folder.endsWith(build))
  const folders = foldersOf(Object.keys(program.dependencies), (folder) => !isLeftOut(folder))
  const packages = [...folders].toSorted().map((folder) => [folder, lockedAs(folder)])
  const { name, version } = manifest
  return {
    name,
    version,
    lockfileVersion: 3,
    requires: true,
    packages: { '': manifest, ...Object.fromEntries(packages) },
  }
}

function lockedAs(folder: string): object {
  const locked = lockedPackages[folder] ?? {}
  if (folder !== `node_modules/${bundled}`) return locked
  const {
    integrity: _integrity,
    resolved: _resolved,
    optionalDependencies: _builds,
    hasInstallScript: _script,
    ...kept
  } = locked
  return { ...kept, inBundle: true }
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}
