import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { inTurns } from '../in-turns.ts'
import { type Mount, isFolder } from '../volume-mounts.ts'

/** One line of the table that mount(8) works through inside the new namespace. */
interface TableLine {
  readonly source: string
  readonly target: string
  readonly options: string
}

export interface RootMount extends Mount {
  /** Which file or folder must be there once it is mounted (`device:inode`), where its name may lead elsewhere by then. */
  readonly identity?: string
}

export interface ContainerRoot {
  /** The folder that becomes the container's root; `/` where the machine's own will do. */
  readonly root: string
  /** The mounts to make, as mount(8) reads them. */
  readonly table: string
  /** What (`device:inode`) must be where afterwards. */
  readonly checks: ReadonlyArray<{ readonly path: string; readonly identity: string }>
}

/**
 * Lays out the root that a container sees: this machine's files, with the container's mounts where it says. Folders that a mount
 * point has to be made in are mirrored, entry by entry, because nothing is ever made in the machine's own folders. Nothing is
 * mounted here: that happens in the container's own namespace. A folder may have thousands of entries: others have their turn
 * meanwhile.
 */
export async function layOutRoot(skeleton: string, mounts: readonly RootMount[]): Promise<ContainerRoot> {
  if (existsSync(skeleton)) await rm(skeleton, { recursive: true, force: true })
  return inTurns(layingOut(skeleton, mounts))
}

function* layingOut(skeleton: string, mounts: readonly RootMount[]): Generator<undefined, ContainerRoot> {
  mkdirSync(skeleton, { recursive: true })
  const outermostFirst = mounts.toSorted((a, b) => a.mountPath.length - b.mountPath.length)
  const places = outermostFirst.map((mount) => ({ mount, path: placeOf(mount.mountPath) }))
  const missing = places.filter(({ mount, path }, index) => {
    const inside = places.slice(0, index).some((outer) => isBelow(path, outer.path))
    return !inside && !(existsSync(path) && isFolder(path) === isFolder(mount.folder))
  })
  const covered = coverableFolders(missing, skeleton)
  const mirrored = new Set<string>()
  for (const { path } of missing) {
    let folder = dirname(path)
    for (; folder !== '/' && !covered.has(folder); folder = dirname(folder)) mirrored.add(folder)
    mirrored.add(folder)
  }
  const outermost = [...covered].filter((folder) => ![...covered].some((outer) => isBelow(folder, outer)))
  const root = mirrored.size > 0 && covered.size === 0 ? skeleton : ''
  const lines: TableLine[] = []
  for (const folder of root === '' ? outermost : ['/']) yield* mirror(folder, skeleton, mirrored, lines)
  // What holds the skeleton first: bound later, it would be bound with everything that is in the skeleton by then.
  lines.sort((a, b) => Number(isBelow(skeleton, b.source)) - Number(isBelow(skeleton, a.source)))
  const volumes = places.map(({ mount, path }, index): TableLine => {
    const outer = places.slice(0, index).findLast((candidate) => isBelow(path, candidate.path))
    // Inside another volume the mount point is made in that volume, as everywhere.
    const point = outer ? outer.mount.folder + path.slice(outer.path.length) : skeleton + path
    if (outer || mirrored.has(dirname(path))) makePoint(point, isFolder(mount.folder))
    return {
      source: mount.folder,
      target: root + path,
      options: mount.readOnly ? 'rbind,ro' : 'rbind',
    }
  })
  const table = [
    ...(root === '' ? [] : [{ source: skeleton, target: skeleton, options: 'bind' }]),
    ...lines,
    ...outermost.map((folder) => ({ source: skeleton + folder, target: folder, options: 'rbind' })),
    ...volumes,
  ].map(({ source, target, options }) => `${escaped(source)} ${escaped(target)} none ${options} 0 0`)
  // Not called after its type: mount(8) passes over what it takes for mounted already.
  const proc = `container ${escaped(root)}/proc proc nosuid,nodev,noexec 0 0`
  const checks = places.flatMap(({ mount, path }) =>
    mount.identity === undefined ? [] : [{ path, identity: mount.identity }],
  )
  return { root: root || '/', checks, table: `${[...table, proc].join('\n')}\n` }
}

/**
 * Folders of the machine that can be covered by their mirrors where they are, so that the rest of its root need not be mirrored:
 * those that mount points are missing in. None where one is missing in the root itself, or the mirror would mirror itself.
 */
function coverableFolders(missing: ReadonlyArray<{ readonly path: string }>, skeleton: string): ReadonlySet<string> {
  const folders = new Set<string>()
  for (const { path } of missing) {
    let folder = dirname(path)
    while (!existsSync(folder)) folder = dirname(folder)
    if (folder === '/' || !isFolder(folder) || isBelow(skeleton, folder)) return new Set()
    folders.add(folder)
  }
  return folders
}

function* mirror(
  folder: string,
  skeleton: string,
  mirrored: ReadonlySet<string>,
  lines: TableLine[],
): Generator<undefined, void> {
  const made = join(skeleton, folder)
  mkdirSync(made, { recursive: true })
  if (existsSync(folder)) chmodSync(made, lstatSync(folder).mode & 0o7777)
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const path = join(folder, name)
    if (mirrored.has(path)) continue
    yield undefined
    const target = join(skeleton, path)
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (!found) continue
    if (found.isSymbolicLink()) {
      symlinkSync(readlinkSync(path), target)
      continue
    }
    // Nothing is there yet, and its parent is: no need to look.
    if (found.isDirectory()) mkdirSync(target)
    else writeFileSync(target, '')
    if (path !== '/proc') lines.push({ source: path, target, options: 'rbind' })
  }
  for (const path of mirrored) {
    if (path !== folder && dirname(path) === folder) yield* mirror(path, skeleton, mirrored, lines)
  }
}

function makePoint(path: string, folder: boolean): void {
  if (existsSync(path)) return
  mkdirSync(folder ? path : dirname(path), { recursive: true })
  if (!folder) writeFileSync(path, '')
}

/** The path with the links of its existing part resolved: `/var/run/x` is `/run/x` on most machines. */
function placeOf(mountPath: string): string {
  let existing = mountPath
  while (!existsSync(existing)) existing = dirname(existing)
  const real = realpathSync.native(existing)
  const rest = mountPath.slice(existing === '/' ? 0 : existing.length)
  return real === '/' ? rest || '/' : real + rest
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder === '/' ? '/' : `${folder}/`)
}

/** As fstab wants it. */
function escaped(path: string): string {
  return path.replaceAll(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`)
}
