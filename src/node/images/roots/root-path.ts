import { type Stats, lstatSync, readlinkSync } from 'node:fs'
import { ArchiveFault, pathBytes, shownPath } from '../tar/archive-fault.ts'

const longestPath = 4095
const longestSegment = 255
const deepestPath = 200
/** As many links as the kernel follows. */
const mostLinks = 40

/**
 * Splits an entry's name into parts. It is always relative to the root, whether it begins with `/`, `./` or neither;
 * `..` is refused even where it would stay inside.
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
 * Resolves a path as after a chroot into the root: links are followed, but none leads out. Missing parts are taken
 * literally. `root` must contain no links, and nobody else may write below it at the same time.
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

/** Whether the path and all its parents below the root are real folders, not links. */
export function isFolderBelow(root: string, path: string): boolean {
  for (let end = path.length; end > root.length; end = path.lastIndexOf('/', end - 1)) {
    if (factsOf(path.slice(0, end))?.isDirectory() !== true) return false
  }
  return true
}

/** What is at a path, without following a link; `undefined` also where a parent is no folder. */
export function factsOf(path: string): Stats | undefined {
  try {
    return lstatSync(pathBytes(path), { throwIfNoEntry: false })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return undefined
    throw error
  }
}
