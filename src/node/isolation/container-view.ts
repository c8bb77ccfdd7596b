import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Mount, isFolder } from '../volumes/volume-mounts.ts'
import { removeFolder } from '../volumes/remove-folder.ts'
import { driverSteps } from './card-libraries.ts'
import type { EntryStep } from './entry-steps.ts'
import { addedSteps, machineSteps } from './machine-view.ts'

/** What a container's root is made of. */
export type RootBase =
  /** The machine's programs, with these besides. */
  | { readonly kind: 'machine'; readonly visible: readonly string[] }
  /** The files of an image, which are only read: what the container writes lies above them. */
  | { readonly kind: 'image'; readonly files: string }

export interface ContainerView {
  readonly base: RootBase
  /** A folder of the container's own: what it writes besides its volumes. A restart begins with an empty one. */
  readonly own: string
  readonly mounts: readonly Mount[]
  readonly readOnlyRoot: boolean
  /** Names in the machine's `/dev` of the cards that it may use. */
  readonly cards: readonly string[]
  /** Folders of its control groups, by which programs know their limits. */
  readonly groups: readonly string[]
  /** What no container sees, wherever it lies. */
  readonly covered: readonly string[]
  readonly workingDir: string
  /** In a user namespace overlayfs keeps its marks where a user may write them. */
  readonly asUser: boolean
}

/** What every container may use of the machine's devices, and the links that programs look for. */
const devices = ['null', 'zero', 'full', 'random', 'urandom', 'tty']
const deviceLinks = { fd: '/proc/self/fd', stdin: 'fd/0', stdout: 'fd/1', stderr: 'fd/2', ptmx: 'pts/ptmx' }
/** What the kernel tells of the machine as a whole, as container runtimes hide it. */
const coveredKernelFiles = [
  '/proc/acpi',
  '/proc/asound',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/sys/devices/virtual/powercap',
  '/sys/firmware',
  '/sys/kernel/debug',
  '/sys/kernel/security',
  '/sys/kernel/tracing',
]
const kernelFilesOnlyRead = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']
/** Overlayfs has a meaning of its own for these in the names of folders. */
const unfit = /[,:\\]/

/** Empties what a container had of its own. Not on the event loop: it may have been a lot. */
export async function clearOwnRoot(own: string): Promise<void> {
  for (const name of ['root', 'upper', 'work', 'layers']) {
    if (existsSync(join(own, name))) await removeFolder(join(own, name))
  }
  mkdirSync(join(own, 'root'))
}

/** How a container's root is made, in namespaces of its own. */
export interface RootSteps {
  /**
   * What is the same for all containers of a kind: it can be done before there is one, and need not be planned then.
   */
  base(): readonly EntryStep[]
  readonly rest: readonly EntryStep[]
}

/** What is said when a base that was asked for ahead is made. */
export const baseWord = 'base'

/** The root of every container without an image, to be made ahead, in a folder that is then its own. */
export function machineRootAhead(folder: string): EntryStep[] {
  return [...machineRoot(folder), ['say', baseWord]]
}

function machineRoot(folder: string): EntryStep[] {
  return [['folder-root', folder, 'nosuid', 'nodev'], ...machineSteps(), ...kernelSteps()]
}

/** Only folders of the container's own are made here; everything else is done where these steps are followed. */
export function viewSteps(view: ContainerView): RootSteps {
  const { readOnlyRoot, mounts, covered, workingDir, cards, groups } = view
  const volumes = mounts
    .toSorted((a, b) => a.mountPath.length - b.mountPath.length)
    .map((mount): EntryStep => {
      const inside = mount.partial ? mount.folder.slice(mount.root.length + 1) : ''
      const from = inside === '' ? mount.folder : mount.root
      return ['bind', from, inside, mount.mountPath, ...(mount.readOnly ? (['ro'] as const) : []), 'nosuid', 'nodev']
    })
  const added = addedToBase(view)
  const layers = added.flatMap((step) => (step[0] === 'mount' && step[1] === 'overlay' ? [step[2]] : []))
  const ownLayers = layers.filter((path) => mounts.every(({ mountPath }) => mountPath !== path))
  const rest: EntryStep[] = [
    ...added,
    ...groupSteps(groups),
    ...cards.map(deviceStep),
    ...(cards.length > 0 && view.base.kind === 'image' ? driverSteps() : []),
    ...covered.map((path): EntryStep => ['cover', path]),
    ...volumes,
    ['folder', workingDir, '0755'],
    ...(readOnlyRoot ? ([['root-only-read', ...ownLayers]] as const) : []),
    ['pivot'],
  ]
  return { base: baseSteps(view), rest }
}

function baseSteps({ base, own, asUser }: ContainerView): () => readonly EntryStep[] {
  const root = join(own, 'root')
  if (base.kind === 'machine') return () => machineRoot(root)
  const bad = [own, base.files].find((path) => unfit.test(path))
  if (bad !== undefined) throw new Error(`overlayfs cannot be told of the folder ${JSON.stringify(bad)}`)
  const [upper, work] = ['upper', 'work'].map((name) => join(own, name))
  for (const folder of [upper, work]) if (folder !== undefined) mkdirSync(folder, { recursive: true, mode: 0o755 })
  const layers = [`lowerdir=${base.files}`, `upperdir=${upper}`, `workdir=${work}`]
  return () => [['layered-root', root, 'nodev', ...layers, ...(asUser ? ['userxattr'] : [])], ...kernelSteps()]
}

function addedToBase({ base, own, mounts, asUser }: ContainerView): EntryStep[] {
  if (base.kind === 'image') return []
  const places = mounts.map(({ mountPath, folder }) => ({ mountPath, isFolder: isFolder(folder) }))
  return addedSteps({ visible: base.visible, mounts: places, layers: join(own, 'layers'), asUser })
}

/** What the kernel shows of itself, and devices that are nobody's. */
function kernelSteps(): EntryStep[] {
  return [
    ['mount', 'proc', '/proc', 'nosuid,nodev,noexec'],
    ['system-files', '/sys'],
    ['cover', '/sys/fs/cgroup'],
    ...deviceSteps(),
    ...coveredKernelFiles.map((path): EntryStep => ['cover', path]),
    ...kernelFilesOnlyRead.map((path): EntryStep => ['only-read', path]),
  ]
}

/** It is the machine's: it can be written to, but neither given away nor closed to others. */
function deviceStep(name: string): EntryStep {
  return ['bind', `/dev/${name}`, '', `/dev/${name}`, 'ro', 'nosuid', 'noexec']
}

function deviceSteps(): EntryStep[] {
  return [
    // Those that root in the container makes here are none.
    ['mount', 'tmpfs', '/dev', 'nosuid,nodev,noexec', 'mode=0755', 'size=64k'],
    ...devices.map(deviceStep),
    ...Object.entries(deviceLinks).map(([name, target]): EntryStep => ['link', `/dev/${name}`, target]),
    ['mount', 'devpts', '/dev/pts', 'nosuid,noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620'],
    ['mount', 'tmpfs', '/dev/shm', 'nosuid,nodev,noexec', 'mode=1777', 'size=64m'],
    ...(existsSync('/proc/sys/fs/mqueue')
      ? ([['mount', 'mqueue', '/dev/mqueue', 'nosuid,nodev,noexec']] as const)
      : []),
  ]
}

/** Its own groups are all that it sees of them: on the unified hierarchy one, else one of each controller. */
function groupSteps(groups: readonly string[]): EntryStep[] {
  const place = '/sys/fs/cgroup'
  const unified = groups.find((folder) => existsSync(join(folder, 'cgroup.controllers')))
  if (unified !== undefined) return [['bind', unified, '', place, 'ro', 'nosuid', 'nodev', 'noexec']]
  const controllers = groups.flatMap((folder): EntryStep[] => {
    const [, controller] = /^\/sys\/fs\/cgroup\/([a-z,_]+)\//.exec(folder) ?? []
    if (controller === undefined) return []
    return [['bind', folder, '', `${place}/${controller}`, 'ro', 'nosuid', 'nodev', 'noexec']]
  })
  if (controllers.length === 0) return []
  return [
    ['mount', 'tmpfs', place, 'nosuid,nodev,noexec', 'mode=0755', 'size=64k'],
    ...controllers,
    ['only-read', place],
  ]
}
