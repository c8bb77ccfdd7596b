import { lstatSync, mkdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { EntryStep } from './entry-steps.ts'
import { namesInFolder } from '../names-in-folder.ts'

/**
 * The folders that the machine's programs consist of. Every container without an image can read and run all of it, as
 * docs/explanation/sandbox.md says.
 */
export const programFolders = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/opt',
  '/nix/store',
  '/gnu/store',
  '/run/current-system',
  '/run/opengl-driver',
] as const

/** Files in `/etc` that programs need and that hold no secrets. A trailing `*` matches all names that begin so. */
export const settings = [
  'OpenCL',
  'alternatives',
  'bash.bashrc',
  'ca-certificates',
  'ca-certificates.conf',
  'crypto-policies',
  'debian_version',
  'fonts',
  'gai.conf',
  'glvnd',
  'group',
  'host.conf',
  'inputrc',
  'java*',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'ld-musl*',
  'locale.alias',
  'locale.conf',
  'localtime',
  'lsb-release',
  'magic',
  'mime.types',
  'networks',
  'nsswitch.conf',
  'nvidia',
  'os-release',
  'passwd',
  'perl',
  'pki/ca-trust',
  'pki/tls/cert.pem',
  'pki/tls/certs',
  'profile',
  'profile.d',
  'protocols',
  'python3*',
  'redhat-release',
  'rpc',
  'services',
  'shells',
  'ssl/cert.pem',
  'ssl/certs',
  'ssl/openssl.cnf',
  'terminfo',
  'timezone',
  'vulkan',
] as const

/** The container's own folders, empty at each start. */
const ownFolders = {
  '/etc': '0755',
  '/home': '0755',
  '/media': '0755',
  '/mnt': '0755',
  '/root': '0700',
  '/run': '0755',
  '/srv': '0755',
  '/tmp': '1777',
  '/var': '0755',
  '/var/cache': '0755',
  '/var/lib': '0755',
  '/var/log': '0755',
  '/var/tmp': '1777',
} as const

export interface AddedView {
  /** Further folders and files that the container's program needs. */
  readonly visible: readonly string[]
  /** The container's mount points, and whether they are folders. */
  readonly mounts: readonly { readonly mountPath: string; readonly isFolder: boolean }[]
  /** The folder for the layers above folders of the machine in which something is mounted. */
  readonly layers: string
  readonly asUser: boolean
}

/**
 * Shows the machine's programs read-only, as every container without an image sees them. The rest of its root is its
 * own.
 */
export function machineSteps(): EntryStep[] {
  const folders = Object.entries(ownFolders).map(([path, mode]): EntryStep => ['folder', path, mode])
  return [
    ...folders,
    ['link', '/var/run', '/run'],
    ...shownSteps([...programFolders, ...settings.flatMap(settingPaths)]),
  ]
}

/**
 * Adds what one container sees besides. If something is to be mounted in a folder of the machine where the mount point
 * does not exist, that folder gets a layer of the container's own, in which the mount point is made; the machine is
 * never changed.
 */
export function addedSteps({ visible, mounts, layers, asUser }: AddedView): EntryStep[] {
  const bound: readonly string[] = programFolders.filter((path) => isPlainFolder(path))
  const inside = (path: string) => bound.some((folder) => path === folder || path.startsWith(`${folder}/`))
  const added = visible.flatMap(withRealPath).filter((path) => !inside(path))
  const isShown = (path: string) =>
    inside(path) || added.some((folder) => path === folder || path.startsWith(`${folder}/`))
  const layered = foldersThatLack(mounts)
    .filter(isShown)
    .map((folder, index) => layerStep(folder, join(layers, String(index)), asUser))
  return [...shownSteps(added), ...layered]
}

function shownSteps(paths: readonly string[]): EntryStep[] {
  return [...new Set(paths)].flatMap((path): EntryStep[] => {
    const facts = lstatSync(path, { throwIfNoEntry: false })
    if (!facts) return []
    if (facts.isSymbolicLink()) return [['link', path, readlinkSync(path)]]
    return [['bind', path, '', path, 'ro', 'nosuid', 'nodev']]
  })
}

function isPlainFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/**
 * The folders of the machine that lack a mount point, parents first. The folder itself, not one above it: an ordinary
 * user can only create entries in the root of a layer.
 */
function foldersThatLack(mounts: AddedView['mounts']): string[] {
  const lacking = mounts
    .filter(({ mountPath, isFolder }) => !isThere(mountPath, isFolder))
    .map(({ mountPath }) => {
      let folder = dirname(mountPath)
      while (!isThere(folder, true)) folder = dirname(folder)
      return realpathSync.native(folder)
    })
  return [...new Set(lacking)].sort((a, b) => a.length - b.length)
}

function layerStep(path: string, own: string, asUser: boolean): EntryStep {
  for (const name of ['upper', 'work']) mkdirSync(join(own, name), { recursive: true })
  const folders = [`lowerdir=${path}`, `upperdir=${join(own, 'upper')}`, `workdir=${join(own, 'work')}`]
  return ['mount', 'overlay', path, 'nosuid,nodev', ...folders, ...(asUser ? ['userxattr'] : [])]
}

function settingPaths(name: string): string[] {
  if (!name.endsWith('*')) return [`/etc/${name}`]
  const start = name.slice(0, -1)
  return namesInFolder('/etc')
    .filter((entry) => entry.startsWith(start))
    .map((entry) => `/etc/${entry}`)
}

/** The file behind a path and, if both are in the same folder, the path itself: programs use both names. */
function withRealPath(path: string): string[] {
  try {
    const real = realpathSync.native(path)
    return real === path ? [path] : [real, ...(dirname(real) === dirname(path) ? [path] : [])]
  } catch {
    return []
  }
}

function isThere(path: string, isFolder: boolean): boolean {
  const facts = statSync(path, { throwIfNoEntry: false })
  return facts !== undefined && facts.isDirectory() === isFolder
}
