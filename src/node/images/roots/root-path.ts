import { type Stats, lstatSync, readlinkSync } from 'node:fs'
import { ArchiveFault, pathBytes, shownPath } from '../tar/archive-fault.ts'

const longestPath = 4095
const longestSegment = 255
const deepestPath = 200
/** As many as the kernel follows. */
const mostLinks = 40

/**
 * The parts of an entry's name. A name is always one below the root, whether it begins with `/`, `./` or neither; one
 * that goes up is refused, even where it would come down again.
 */
export function segmentsOf(name: string): readonly string[] {
  if (name.length > longestPath)
    throw new ArchiveFault(`the name ${shownPath(name)} is longer than ${longestPath} bytes`)
  if (name.includes('\0')) throw new ArchiveFault(`the name ${shownPath(name)} has a zero byte`)
  const segments = name.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.includes('..')) throw new ArchiveFault(`the name ${shownPath(name)} contains ".."`)
  if (segments.length > deepestPath) throw new ArchiveFault(`the name ${shownPath(name)} is deeper than ${deepestPath}`)
  if (segments.some((segment) => segment.length > longestSegment)) {
    throw new ArchiveFault(`the name ${shownPath(name)} has a part that is longer than ${longestSegment} bytes`)
  }
  return segments
}

/**
 * Where a path is, seen from inside a root: links on the way are followed as they would be after a chroot, so none
 * leads out. Parts that are not there are taken as they are. `root` must have no links, and nobody else may write below
 * it meanwhile.
 */
export function resolveInside(root: string, segments: readonly string[]): string {
  const ahead = segments.toReversed()
  const behind: string[] = []
  let links = 0
  for (let segment = ahead.pop(); segment !== undefined; segment = ahead.pop()) {
    if (segment === '' || segment === '.') continue
    if (segment === '..') {
      behind.pop()
      continue
    }
    behind.push(segment)
    if (behind.length > deepestPath)
      throw new ArchiveFault(`${shownPath(segments.join('/'))} leads too deep through links`)
    const path = `${root}/${behind.join('/')}`
    if (factsOf(path)?.isSymbolicLink() !== true) continue
    links += 1
    if (links > mostLinks) throw new ArchiveFault(`${shownPath(segments.join('/'))} goes through too many links`)
    const target = readlinkSync(pathBytes(path), { encoding: 'latin1' })
    if (target.startsWith('/')) behind.length = 0
    else behind.pop()
    ahead.push(...target.split('/').toReversed())
  }
  return behind.length === 0 ? root : `${root}/${behind.join('/')}`
}

/** Whether the path is that of a folder, and every part of it behind the root as well: none is a link. */
export function isFolderBelow(root: string, path: string): boolean {
  for (let end = path.length; end > root.length; end = path.lastIndexOf('/', end - 1)) {
    if (factsOf(path.slice(0, end))?.isDirectory() !== true) return false
  }
  return true
}

/** What is at a path itself, not where a link there leads; nothing is inside what is not a folder. */
export function factsOf(path: string): Stats | undefined {
  try {
    return lstatSync(pathBytes(path), { throwIfNoEntry: false })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return undefined
    throw error
  }
}
