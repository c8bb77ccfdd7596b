import { lstatSync, mkdirSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { EntryStep } from './entry-steps.ts'

/** What programs of the machine are made of. All of it can be read and run by every container without an image; docs/sandbox.md says so. */
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

export interface MachineView {
  /** Further folders and files that the container's program is made of. */
  readonly visible: readonly string[]
  /** Where the container mounts something, and whether that is a folder. */
  readonly mounts: readonly { readonly mountPath: string; readonly isFolder: boolean }[]
  /** A folder for what the container writes in folders of the machine that something is to be mounted in. */
  readonly layers: string
  readonly asUser: boolean
}

/**
 * What a container without an image sees of this machine, read-only: its programs, and nothing else. The rest of its root is its own.
 * Where something is to be mounted in a folder of the machine that has no such place, that folder is layered: the place is made in
 * the container's own layer of it, never on the machine.
 */
export function machineSteps({ visible, mounts, layers, asUser }: MachineView): EntryStep[] {
  const shown = [...programFolders, ...settings.flatMap(settingPaths), ...visible.flatMap(withRealPath)]
  const bound = new Set<string>()
  const steps: EntryStep[] = Object.entries(ownFolders).map(([path, mode]) => ['folder', path, mode])
  steps.push(['link', '/var/run', '/run'])
  for (const path of shown) {
    const facts = lstatSync(path, { throwIfNoEntry: false })
    if (!facts || isInside(path, bound)) continue
    if (facts.isSymbolicLink()) {
      steps.push(['link', path, readlinkSync(path)])
      continue
    }
    bound.add(path)
    const lacks = mounts.some(
      ({ mountPath, isFolder }) => mountPath.startsWith(`${path}/`) && !isThere(mountPath, isFolder),
    )
    if (lacks && facts.isDirectory()) steps.push(layerStep(path, join(layers, String(bound.size)), asUser))
    else steps.push(['bind', path, '', path, 'ro', 'nosuid', 'nodev'])
  }
  return steps
}

function layerStep(path: string, own: string, asUser: boolean): EntryStep {
  for (const name of ['upper', 'work']) mkdirSync(join(own, name), { recursive: true })
  const folders = [`lowerdir=${path}`, `upperdir=${join(own, 'upper')}`, `workdir=${join(own, 'work')}`]
  return ['mount', 'overlay', path, 'nosuid,nodev', ...folders, ...(asUser ? ['userxattr'] : [])]
}

function settingPaths(name: string): string[] {
  if (!name.endsWith('*')) return [`/etc/${name}`]
  const start = name.slice(0, -1)
  return namesIn('/etc')
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

function isInside(path: string, bound: ReadonlySet<string>): boolean {
  for (let folder = path; folder !== '/'; folder = dirname(folder)) if (bound.has(folder)) return true
  return false
}

function isThere(path: string, isFolder: boolean): boolean {
  const facts = statSync(path, { throwIfNoEntry: false })
  return facts !== undefined && facts.isDirectory() === isFolder
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}
