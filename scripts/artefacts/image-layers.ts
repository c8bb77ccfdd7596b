import { execFileSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { FileTree } from './file-tree.ts'
import { foldersOf } from './production-packages.ts'
import { addProgram } from './program-files.ts'
import { program, root } from './repository.ts'

const home = 'opt/sluice'
/** The user that distroless images have, too. */
export const imageUser = 65_532
/** Only its engine needs llama.cpp, and no container needs a second Node. */
const engineDependency = 'node-llama-cpp'
const pinnedNode = 'node'

/** What is never used at run time, and is most of what packages consist of. */
const isNeeded = (path: string) =>
  !/\.(map|d\.[cm]?ts|md|markdown|flow|tsbuildinfo)$/i.test(path) &&
  !/(^|\/)(node_modules|\.bin|\.cache|test|tests|__tests__|docs|example|examples|\.github)$/.test(path)

/** The system below the program: the libraries that Node needs, from this machine, and who it runs as. */
export function systemLayer(programs: readonly string[]): FileTree {
  const tree = new FileTree()
    .addFolder('tmp', 0o1777)
    .addFolder('home/sluice')
    .addText(
      'etc/passwd',
      `root:x:0:0:root:/root:/sbin/nologin\nsluice:x:${imageUser}:${imageUser}:sluice:/home/sluice:/sbin/nologin\n`,
    )
    .addText('etc/group', `root:x:0:\nsluice:x:${imageUser}:\n`)
    .addText('etc/nsswitch.conf', 'hosts: files dns\n')
  // Below /usr, as distributions have it, and as node-llama-cpp looks for it.
  for (const folder of ['lib', 'lib64']) tree.addLink(folder, `usr/${folder}`)
  for (const library of librariesOf(programs)) {
    tree.addFile(`usr${library.replace(/^\/usr\//, '/')}`, realpathSync(library))
  }
  return tree
}

/** Where the loader finds what programs are linked with. */
function librariesOf(programs: readonly string[]): readonly string[] {
  const found = programs.flatMap((path) => {
    const said = execFileSync('ldd', [path], { encoding: 'utf8' })
    return [...said.matchAll(/(?:=>\s+|^\s+)(\/\S+)\s+\(0x/gm)].map((match) => match[1] ?? '')
  })
  return [...new Set(found)].filter((path) => !path.startsWith(root)).toSorted()
}

export function nodeLayer(node: string): FileTree {
  return new FileTree().addFile('usr/bin/node', node)
}

/** The program and all that it needs but the engine's library. */
export function programLayer(): FileTree {
  const tree = new FileTree()
  addProgram(tree, home)
  tree.addText(
    `${home}/package.json`,
    `${JSON.stringify({ name: program.name, version: program.version, type: 'module' })}\n`,
  )
  // There is no shell, so `sluice` is a program of Node's.
  tree.addText(
    'usr/bin/sluice',
    `#!/usr/bin/node --max-semi-space-size=8\nawait import('/${home}/bin/sluice.mjs')\n`,
    0o755,
  )
  for (const folder of usualFolders()) addPackage(tree, folder)
  return tree
}

/** What `sluice serve` needs besides. */
export function engineLayer(): FileTree {
  const tree = new FileTree()
  const usual = usualFolders()
  for (const folder of foldersOf([engineDependency])) if (!usual.has(folder)) addPackage(tree, folder)
  return tree
}

/** The libraries of llama.cpp, which bring needs of their own. */
export function engineLibraries(): readonly string[] {
  const tree = new FileTree().addAll('', join(root, 'node_modules/@node-llama-cpp'))
  const paths = tree.entries.map(([path]) => join(root, 'node_modules/@node-llama-cpp', path))
  return paths.filter((path) => /\.(node|so)(\.\d+)*$/.test(path) && existsSync(path))
}

function usualFolders(): ReadonlySet<string> {
  return foldersOf(Object.keys(program.dependencies).filter((name) => name !== engineDependency && name !== pinnedNode))
}

function addPackage(tree: FileTree, folder: string): void {
  if (/(^|\/)node_modules\/(@types\/|typescript$|@typescript\/)/.test(folder)) return
  tree.addAll(`${home}/${folder}`, join(root, folder), isNeeded)
}
