import { chmodSync, chownSync, lstatSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ContainerRoot, RootMount } from '../isolation/container-root.ts'
import { ContainerRefused } from '../pod-runtime.ts'
import { isFolder } from '../volume-mounts.ts'
import { pathBytes, pathOf } from './archive-fault.ts'
import { isFolderItself, isThere } from './root-files.ts'
import { resolveInside } from './root-path.ts'

export interface ImageRootLayout {
  /** The image's files, which are only read. */
  readonly image: string
  /** A folder of the container's own: what it writes, and what its mounts need. Made anew: a restart begins with the image. */
  readonly own: string
  readonly mounts: readonly RootMount[]
  /** `readOnlyRootFilesystem`: then nothing but its mounts can be written to. */
  readonly readOnly: boolean
  /** In a user namespace overlayfs keeps its marks where a user may write them. */
  readonly asUser: boolean
}

/** What every container may use of the machine's devices, and the links that programs look for. */
const devices = ['null', 'zero', 'full', 'random', 'urandom', 'tty']
const deviceLinks = { fd: '/proc/self/fd', stdin: 'fd/0', stdout: 'fd/1', stderr: 'fd/2', ptmx: 'pts/ptmx' }
/** Overlayfs has a meaning of its own for these in the names of folders. */
const unfit = /[,:\\"\n]/

/**
 * Lays out the root of a container that has an image: its files below, what the container writes above, and mount points that the
 * image lacks in between. Nothing is mounted here, and nothing of the image is changed. Where mount points are is looked up inside the
 * image, as after a chroot: the kernel would follow a link of the image to the machine's own files.
 */
export function layOutImageRoot({ image, own, mounts, readOnly, asUser }: ImageRootLayout): ContainerRoot {
  rmSync(own, { recursive: true, force: true })
  mkdirSync(own, { recursive: true, mode: 0o700 })
  const base = realpathSync.native(own)
  const lower = realpathSync.native(image)
  const bad = [base, lower].find((path) => unfit.test(path))
  if (bad !== undefined) throw refused(`overlayfs cannot be told of the folder ${JSON.stringify(bad)}`)
  const folder = (name: string) => {
    const path = join(base, name)
    mkdirSync(path)
    chmodSync(path, 0o755)
    return path
  }
  const points = folder('points')
  const upper = folder('upper')
  const work = folder('work')
  const merged = folder('merged')
  const dev = folder('dev')
  for (const made of [points, upper]) likeIn(lower, made, asUser)
  for (const name of devices) writeFileSync(join(dev, name), '')
  for (const name of ['pts', 'shm', 'mqueue']) mkdirSync(join(dev, name))
  for (const [name, target] of Object.entries(deviceLinks)) symlinkSync(target, join(dev, name))

  const place = (mountPath: string, isDir: boolean): string => {
    const path = placeIn(lower, mountPath)
    makePoint({ lower, points, asUser }, path, isDir, mountPath)
    return merged + path
  }
  const layers = `lowerdir=${points}:${lower}`
  const options = readOnly ? `${layers},ro` : `${layers},upperdir=${upper},workdir=${work}`
  const lines = [line('overlay', merged, 'overlay', asUser ? `${options},userxattr` : options)]
  const devPath = place('/dev', true)
  lines.push(line(dev, devPath, 'none', 'bind'))
  for (const name of devices) lines.push(line(`/dev/${name}`, `${devPath}/${name}`, 'none', 'bind'))
  lines.push(line('shm', `${devPath}/shm`, 'tmpfs', 'nosuid,nodev,noexec,mode=1777,size=64m'))
  // Not called after its type: mount(8) passes over what it takes for mounted already.
  lines.push(line('container', place('/proc', true), 'proc', 'nosuid,nodev,noexec'))

  const places = mounts
    .toSorted((a, b) => a.mountPath.length - b.mountPath.length)
    .map((mount) => ({ mount, path: placeIn(lower, mount.mountPath) }))
  for (const [index, { mount, path }] of places.entries()) {
    const isDir = isFolder(mount.folder)
    const outer = places.slice(0, index).findLast((candidate) => path.startsWith(`${candidate.path}/`))
    // Inside another volume the mount point is made in that volume, as everywhere.
    if (outer) makeInside(outer.mount.folder + path.slice(outer.path.length), isDir)
    else makePoint({ lower, points, asUser }, path, isDir, mount.mountPath)
    lines.push(line(mount.folder, merged + path, 'none', mount.readOnly ? 'rbind,ro' : 'rbind'))
  }
  const checks = places.flatMap(({ mount, path }) =>
    mount.identity === undefined ? [] : [{ path, identity: mount.identity }],
  )
  return { root: merged, table: `${lines.join('\n')}\n`, checks }
}

/** Where a path of the container is in its image; what the image lacks is where it says. */
function placeIn(lower: string, path: string): string {
  const root = pathOf(lower)
  return pathBytes(resolveInside(root, pathOf(path).split('/')).slice(root.length)).toString('utf8') || '/'
}

interface PointPlaces {
  readonly lower: string
  readonly points: string
  readonly asUser: boolean
}

function makePoint({ lower, points, asUser }: PointPlaces, path: string, isDir: boolean, mountPath: string): void {
  if (path === '/') throw refused(`mountPath "${mountPath}" is the root of the image`)
  const inImage = pathOf(lower + path)
  if (isThere(inImage)) {
    if (isFolderItself(inImage) !== isDir)
      throw refused(`mountPath "${mountPath}" is ${isDir ? 'no folder' : 'a folder'} in the image`)
    return
  }
  const parent = dirname(path)
  if (parent !== '/') makeFolders({ lower, points, asUser }, parent, mountPath)
  const point = points + path
  if (isThere(pathOf(point))) return
  if (isDir) mkdirSync(point)
  else writeFileSync(point, '')
  chmodSync(point, isDir ? 0o755 : 0o644)
}

/** Folders on the way: those that the image has look as they do there. */
function makeFolders(places: PointPlaces, path: string, mountPath: string): void {
  const { lower, points, asUser } = places
  if (isFolderItself(pathOf(points + path))) return
  if (dirname(path) !== '/') makeFolders(places, dirname(path), mountPath)
  const inImage = lower + path
  if (isThere(pathOf(inImage)) && !isFolderItself(pathOf(inImage)))
    throw refused(`mountPath "${mountPath}" is inside a file of the image`)
  mkdirSync(points + path)
  chmodSync(points + path, 0o755)
  if (isFolderItself(pathOf(inImage))) likeIn(inImage, points + path, asUser)
}

function likeIn(original: string, made: string, asUser: boolean): void {
  const { mode, uid, gid } = lstatSync(original)
  if (!asUser) chownSync(made, uid, gid)
  chmodSync(made, mode & 0o7777)
}

function makeInside(path: string, isDir: boolean): void {
  if (isThere(pathOf(path))) return
  mkdirSync(isDir ? path : dirname(path), { recursive: true })
  if (!isDir) writeFileSync(path, '')
}

function line(source: string, target: string, type: string, options: string): string {
  return `${escaped(source)} ${escaped(target)} ${type} ${escaped(options)} 0 0`
}

/** As fstab wants it. */
function escaped(path: string): string {
  return path.replaceAll(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`)
}

function refused(message: string): ContainerRefused {
  return new ContainerRefused('CreateContainerConfigError', message)
}
