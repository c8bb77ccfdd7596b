import { lstatSync, mkdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { EntryStep } from './entry-steps.ts'
import { namesInFolder } from '../names-in-folder.ts'

/**
 * What programs of the machine are made of. All of it can be read and run by every container without an image;
 * docs/sandbox.md says so.
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

/** What of `/etc` programs need and nobody keeps secrets in. Names that end with `*` stand for all that begin so. */
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

/** Folders that are the container's own, empty at each of its starts. */
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
  /** Further folders and files that the container's program is made of. */
  readonly visible: readonly string[]
  /** Where the container mounts something, and whether that is a folder. */
  readonly mounts: readonly { readonly mountPath: string; readonly isFolder: boolean }[]
  /** A folder for what the container writes in folders of the machine that something is to be mounted in. */
  readonly layers: string
  readonly asUser: boolean
}

/**
 * What every container without an image sees of this machine, read-only: its programs, and nothing else. The rest of
 * its root is its own.
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
 * What one container sees besides. Where something is to be mounted in a folder of the machine that has no such place,
 * that folder is layered: the place is made in the container's own layer of it, never on the machine.
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
 * The folders of the machine in which a place for a mount has to be made, those above others first. Not the ones above
 * them: where this program is not root, what is made in a layer has to be made in its root, which is its own.
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

/** By the name it is known by, and where that leads: programs ask for both. */
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
