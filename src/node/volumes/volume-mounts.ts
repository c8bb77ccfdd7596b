import { chmodSync, existsSync, lstatSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, sep } from 'node:path'
import type { Container, Pod } from '../../resources/pod.ts'
import { type PodVolume, containerParts, podVolumes } from '../pods/pod-parts.ts'
import { ContainerRefused } from '../pod-runtime.ts'
import { expandVariables } from '../environment/variable-expansion.ts'
import { isFilledFromCluster } from './volume-files.ts'
import { hostFolder } from './host-path.ts'
import { makeInside } from './make-inside.ts'

/** A mount: `mountPath` in the container is `folder` (or a file) on the machine. Paths must not lead out of `root`. */
export interface Mount {
  readonly mountPath: string
  readonly folder: string
  readonly root: string
  readonly readOnly: boolean
  /**
   * A part of a volume, which others may replace by a link: it must be opened at the last moment without following
   * links.
   */
  readonly partial?: boolean
  /** A volume that fsGroup applies to: neither the machine's files nor files from the cluster. */
  readonly shared?: boolean
}

export interface VolumeFolders {
  /** The folder of a claim of the Pod's namespace, in `<data>/volumes/`. */
  claim(name: string): string
  /** A folder that is removed with the Pod; in memory if asked for and possible. */
  scratch(volume: string, inMemory: boolean): string
  readonly hostPathAllowed: boolean
}

/** The longest path that Linux takes. */
const longestPath = 4096
/** The most paths in one text; each is looked up on disk. */
const mostMentions = 1000

const claimPattern = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

/** Finds or makes the folders of a container's mounts. Longest path first, so that nested mounts win. */
export function resolveMounts(
  pod: Pod,
  container: Container,
  folders: VolumeFolders,
  variables: ReadonlyMap<string, string> = new Map(),
): Mount[] {
  const volumes = podVolumes(pod)
  const mounts = containerParts(container).volumeMounts.map((mount): Mount => {
    const { name, mountPath } = mount
    const volume = volumes.find((candidate) => candidate.name === name)
    if (!volume) throw refused(`volumeMount "${name}" names no volume of the Pod`)
    if (!/^\/[^/]/.test(mountPath)) throw refused(`mountPath "${mountPath}" must be an absolute path below /`)
    if (mountPath.split('/').includes('..')) throw refused(`mountPath "${mountPath}" contains ".."`)
    const base = folderOf(volume, folders)
    const root = realpathSync.native(base)
    const subPath = mount.subPath ?? (mount.subPathExpr === undefined ? '' : expanded(mount.subPathExpr, variables))
    const fromCluster = isFilledFromCluster(volume)
    const readOnly = mount.readOnly === true || volume.persistentVolumeClaim?.readOnly === true || fromCluster
    const shared = !fromCluster && volume.hostPath === undefined
    const place = { mountPath: withoutTrailingSlash(mountPath), root, readOnly, shared }
    if (subPath === '') return { ...place, folder: root }
    if (subPath.startsWith('/')) throw refused(`subPath "${subPath}" must be relative`)
    const folder = `${root}/${subPath}`
    refuseEscape(folder, root, subPath)
    if (!existsSync(folder)) makeMissing(folder, root, subPath)
    refuseEscape(folder, root, subPath)
    return { ...place, folder: realpathSync.native(folder), partial: !fromCluster }
  })
  return mounts.toSorted((a, b) => b.mountPath.length - a.mountPath.length)
}

/**
 * Replaces mount paths in an argument or variable by the real folders. Refuses paths that lead out of their volume by
 * `..` or links, since the program would follow them.
 */
export function replaceMountPaths(text: string, mounts: readonly Mount[]): string {
  if (mounts.length === 0 || !text.includes('/')) return text
  const alternatives = mounts.map(({ mountPath }) => escapeForPattern(mountPath)).join('|')
  // A path begins the text or follows a character that cannot be part of one, and ends at a separator of path lists.
  const pattern = new RegExp(`(?<![\\w./-])(${alternatives})(/[^\\s"'\`,;:|&<>()]*)?(?![\\w.-])`, 'g')
  let mentions = 0
  return text.replaceAll(pattern, (written, mountPath: string, rest: string | undefined, offset: number) => {
    const mount = mounts.find((candidate) => candidate.mountPath === mountPath)
    if (!mount) return written
    mentions += 1
    if (mentions > mostMentions) throw refused(`an argument or variable names mounts more than ${mostMentions} times`)
    const path = mount.folder + (rest ?? '')
    refuseEscape(path, mount.root, written)
    // File names may contain separators, so the path meant may be longer than the match.
    const following = text.slice(offset + mountPath.length, offset + mountPath.length + longestPath)
    const [longest = ''] = /^[^\s"'`]*/.exec(following) ?? []
    if (longest.startsWith('/')) refuseEscape(mount.folder + longest, mount.root, mountPath + longest)
    return path
  })
}

/** The path on the machine of a path in the container. */
export function onMachine(path: string, mounts: readonly Mount[]): string {
  const mount = mounts.find(({ mountPath }) => path === mountPath || path.startsWith(`${mountPath}/`))
  return mount ? mount.folder + path.slice(mount.mountPath.length) : path
}

export function refuseEscape(path: string, root: string, written: string): void {
  if (written.split('/').includes('..')) throw refused(`the path "${written}" contains ".."`)
  const real = realpathSync.native(nearestExisting(path, root))
  if (real !== root && !real.startsWith(root + sep))
    throw refused(`the path "${written.slice(0, 200)}" leaves its volume through a link`)
}

/**
 * Makes a missing folder. Others who use the volume may put links there meanwhile: none is followed; at worst the
 * container does not start.
 */
function makeMissing(folder: string, root: string, written: string): void {
  const existing = nearestExisting(folder, root)
  const real = realpathSync.native(existing)
  if (real !== root && !real.startsWith(root + sep))
    throw refused(`the path "${written}" leaves its volume through a link`)
  if (process.platform !== 'linux') return void mkdirSync(folder, { recursive: true })
  makeInside(root, real.slice(root.length) + folder.slice(existing.length))
}

function folderOf(volume: PodVolume, folders: VolumeFolders): string {
  const { persistentVolumeClaim, emptyDir, hostPath, name } = volume
  if (hostPath) {
    if (!folders.hostPathAllowed) throw refused(`volume "${name}": hostPath is not allowed on this node`)
    return hostFolder(hostPath)
  }
  const claim = persistentVolumeClaim?.claimName
  if (claim !== undefined && (!claimPattern.test(claim) || claim.includes('..'))) {
    throw refused(`"${claim}" cannot be the name of a claim`)
  }
  if (claim === undefined && !emptyDir && !isFilledFromCluster(volume)) {
    throw refused(`volume "${name}": its type is not supported on this node`)
  }
  const folder = claim === undefined ? folders.scratch(name, emptyDir?.medium === 'Memory') : folders.claim(claim)
  const made = mkdirSync(folder, { recursive: true })
  // Any user of the Pod's containers may write to it.
  if (made !== undefined && emptyDir) chmodSync(folder, 0o777)
  return folder
}

/**
 * A variable without a value counts as undefined, as in Kubernetes: otherwise a part of the volume would become all of
 * it.
 */
function expanded(expression: string, variables: ReadonlyMap<string, string>): string {
  const valued = new Map([...variables].filter(([, value]) => value !== ''))
  const text = expandVariables(expression, valued)
  if (text.includes('$(')) throw refused(`subPathExpr "${expression}" refers to a variable that has no value`)
  return text
}

/** The closest existing parent: what does not exist cannot be a link that leads elsewhere, but its parent can. */
function nearestExisting(path: string, root: string): string {
  let current = path.startsWith(`${root}/`) && existsSync(root) ? firstMissing(path, root) : path
  while (!existsSync(current) && dirname(current) !== current) {
    if (isDanglingLink(current)) throw refused(`the path "${path}" goes through a link that leads nowhere`)
    current = dirname(current)
  }
  return current
}

/** Searched from the top: a path may name thousands of folders of which few exist. */
function firstMissing(path: string, root: string): string {
  for (let end = path.indexOf('/', root.length + 1); end >= 0; end = path.indexOf('/', end + 1)) {
    const part = path.slice(0, end)
    if (!existsSync(part)) return part
  }
  return path
}

/** Only for paths that `existsSync`, which follows links, did not find. */
function isDanglingLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
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
