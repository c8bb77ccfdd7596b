import { nodeFlag } from '../../src/platform/images/own-program.ts'
import { FileTree } from './file-tree.ts'
import type { Platform } from './platform.ts'
import { foldersOf } from './production-packages.ts'
import { addProgram } from './program-files.ts'
import { program } from './repository.ts'

const home = 'opt/sluice'
/** The user that distroless images have, too. */
export const imageUser = 65_532
/** Only its engine needs these, and no container needs a second Node. */
const engineDependencies = ['node-llama-cpp', 'koffi']
const pinnedNode = 'node'

/** What is never used at run time, and is most of what packages consist of. */
const isNeeded = (path: string) =>
  !/\.(map|d\.[cm]?ts|md|markdown|flow|tsbuildinfo)$/i.test(path) &&
  !/(^|\/)(musl_\w+|node_modules|\.bin|\.cache|test|tests|__tests__|docs|example|examples|\.github)$/.test(path)

/** The system below the program: the libraries that Node and llama.cpp need, and who it runs as. */
export function systemLayer({ libraries }: Platform): FileTree {
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
  const found = libraries()
  for (const folder of ['lib', 'lib64']) {
    if ([...found.keys()].some((path) => path.startsWith(`usr/${folder}/`))) tree.addLink(folder, `usr/${folder}`)
  }
  for (const [path, file] of found) tree.addFile(path, file)
  return tree
}

export function nodeLayer({ node }: Platform): FileTree {
  return new FileTree().addFile('usr/bin/node', node)
}

/** The program and all that it needs but what only its engine does. */
export function programLayer(platform: Platform): FileTree {
  const tree = new FileTree()
  addProgram(tree, home)
  tree.addText(
    `${home}/package.json`,
    `${JSON.stringify({ name: program.name, version: program.version, type: 'module' })}\n`,
  )
  // There is no shell, so `sluice` is a program of Node's.
  tree.addText('usr/bin/sluice', `#!/usr/bin/node ${nodeFlag}\nawait import('/${home}/bin/sluice.mjs')\n`, 0o755)
  for (const folder of usualFolders(platform)) addPackage(tree, folder, platform)
  return tree
}

/** What `sluice serve` needs besides. */
export function engineLayer(platform: Platform): FileTree {
  const tree = new FileTree()
  const usual = usualFolders(platform)
  for (const folder of foldersFor(platform, engineDependencies)) {
    if (!usual.has(folder)) addPackage(tree, folder, platform)
  }
  return tree
}

function usualFolders(platform: Platform): ReadonlySet<string> {
  const names = Object.keys(program.dependencies).filter(
    (name) => !engineDependencies.includes(name) && name !== pinnedNode,
  )
  return foldersFor(platform, names)
}

function foldersFor({ packageAt }: Platform, names: readonly string[]): ReadonlySet<string> {
  return foldersOf(names, (folder) => packageAt(folder) !== undefined)
}

function addPackage(tree: FileTree, folder: string, { packageAt }: Platform): void {
  if (/(^|\/)node_modules\/(@types\/|typescript$|@typescript\/)/.test(folder)) return
  const source = packageAt(folder)
  if (source !== undefined) tree.addAll(`${home}/${folder}`, source, isNeeded)
}
