import { existsSync, lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { dirname, sep } from 'node:path'
import type { Container, Pod } from '../resources/pod.ts'
import { ContainerRefused } from './pod-runtime.ts'

/** A place the container knows by `mountPath` and the machine by `folder`. `root` is what paths must not leave. */
export interface Mount {
  readonly mountPath: string
  readonly folder: string
  readonly root: string
}

export interface VolumeFolders {
  /** `<data>/volumes/<claim>/` */
  claim(name: string): string
  /** Scratch space that goes with the Pod. */
  scratch(volume: string): string
}

const claimPattern = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

/** Finds (and makes) the folders behind a container's mounts. Longest path first, so that nested mounts win. */
export function resolveMounts(pod: Pod, container: Container, folders: VolumeFolders): Mount[] {
  const mounts = (container.volumeMounts ?? []).map(({ name, mountPath, subPath }): Mount => {
    const volume = pod.spec.volumes?.find((candidate) => candidate.name === name)
    if (!volume) throw refused(`volumeMount "${name}" names no volume of the Pod`)
    if (!/^\/[^/]/.test(mountPath)) throw refused(`mountPath "${mountPath}" must be an absolute path below /`)
    const claim = volume.persistentVolumeClaim?.claimName
    if (claim !== undefined && (!claimPattern.test(claim) || claim.includes('..'))) {
      throw refused(`"${claim}" cannot be the name of a claim`)
    }
    if (claim === undefined && volume.emptyDir === undefined) {
      throw refused(`volume "${name}": only persistentVolumeClaim and emptyDir are supported on this node`)
    }
    const base = claim === undefined ? folders.scratch(name) : folders.claim(claim)
    mkdirSync(base, { recursive: true })
    const root = realpathSync(base)
    const folder = subPath === undefined || subPath === '' ? root : `${root}/${subPath}`
    if (subPath !== undefined) refuseEscape(folder, root, subPath)
    mkdirSync(folder, { recursive: true })
    return { mountPath: withoutTrailingSlash(mountPath), folder, root }
  })
  return mounts.toSorted((a, b) => b.mountPath.length - a.mountPath.length)
}

/**
 * Replaces mount paths in a word of a command line or a variable by the real folders. Refuses paths that leave their
 * volume, by `..` or through links: the program would follow them.
 */
export function replaceMountPaths(text: string, mounts: readonly Mount[]): string {
  if (mounts.length === 0) return text
  const alternatives = mounts.map(({ mountPath }) => escapeForPattern(mountPath)).join('|')
  // A path starts the word or follows something that cannot be part of one, and ends where a list of paths goes on.
  const pattern = new RegExp(`(?<![\\w./-])(${alternatives})(/[^\\s"'\`,;:|&<>()]*)?(?![\\w.-])`, 'g')
  return text.replaceAll(pattern, (written, mountPath: string, rest: string | undefined, offset: number) => {
    const mount = mounts.find((candidate) => candidate.mountPath === mountPath)
    if (!mount) return written
    const path = mount.folder + (rest ?? '')
    refuseEscape(path, mount.root, written)
    // File names may hold separators: what the program takes for one path may be longer than what was cut out here.
    const [longest = ''] = /^[^\s"'`]*/.exec(text.slice(offset + mountPath.length)) ?? []
    refuseEscape(mount.folder + longest, mount.root, mountPath + longest)
    return path
  })
}

function refuseEscape(path: string, root: string, written: string): void {
  if (written.split('/').includes('..')) throw refused(`the path "${written}" contains ".."`)
  const real = realpathSync(nearestExisting(path))
  if (real !== root && !real.startsWith(root + sep))
    throw refused(`the path "${written}" leaves its volume through a link`)
}

/** What does not exist yet cannot be a link that leads elsewhere; what it would be made in can. */
function nearestExisting(path: string): string {
  let current = path
  while (!existsSync(current) && dirname(current) !== current) {
    if (isDanglingLink(current)) throw refused(`the path "${path}" goes through a link that leads nowhere`)
    current = dirname(current)
  }
  return current
}

/** Only asked about what `existsSync`, which follows links, did not find. */
function isDanglingLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

function withoutTrailingSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path
}

function escapeForPattern(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)
}

function refused(message: string): ContainerRefused {
  return new ContainerRefused('CreateContainerConfigError', message)
}
