import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Mount, isFolder } from '../volumes/volume-mounts.ts'
import { removeFolder } from '../volumes/remove-folder.ts'
import { driverSteps } from './card-libraries.ts'
import type { EntryStep } from './entry-steps.ts'
import { addedSteps, machineSteps } from './machine-view.ts'

/** What a container's root is made of. */
export type RootBase =
  /** The machine's programs, and these files and folders. */
  | { readonly kind: 'machine'; readonly visible: readonly string[] }
  /** The read-only files of an image; what the container writes goes to a layer above. */
  | { readonly kind: 'image'; readonly files: string }

export interface ContainerView {
  readonly base: RootBase
  /** The container's own folder, for what it writes outside of volumes. Emptied at each start. */
  readonly own: string
  readonly mounts: readonly Mount[]
  readonly readOnlyRoot: boolean
  /** The devices of its cards, by their names in `/dev`. */
  readonly cards: readonly string[]
  /** Its cgroups, from which programs learn their limits. */
  readonly groups: readonly string[]
  /** Paths of the machine that are hidden from every container. */
  readonly covered: readonly string[]
  readonly workingDir: string
  /** Whether it is in a user namespace, where overlayfs needs other attributes. */
  readonly asUser: boolean
}

/** The machine's devices that every container has. */
const devices = ['null', 'zero', 'full', 'random', 'urandom', 'tty']
const deviceLinks = { fd: '/proc/self/fd', stdin: 'fd/0', stdout: 'fd/1', stderr: 'fd/2', ptmx: 'pts/ptmx' }
/** Kernel files about the whole machine, which container runtimes hide, too. */
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
/** Characters with a special meaning in overlayfs options. */
const unfit = /[,:\\]/

/** Empties a container's own folder. Asynchronously, since it may hold a lot. */
export async function clearOwnRoot(own: string): Promise<void> {
  for (const name of ['root', 'upper', 'work', 'layers']) {
    if (existsSync(join(own, name))) await removeFolder(join(own, name))
  }
  mkdirSync(join(own, 'root'))
}

/** The steps that make a container's root in its namespaces. */
export interface RootSteps {
  /** The part that is the same for all containers of a kind, and can be done before the container is known. */
  base(): readonly EntryStep[]
  readonly rest: readonly EntryStep[]
}

/** Printed when a base made ahead is ready. */
export const baseWord = 'base'

/** The steps that make the root of any container without an image ahead, in this folder. */
export function machineRootAhead(folder: string): EntryStep[] {
  return [...machineRoot(folder), ['say', baseWord]]
}

function machineRoot(folder: string): EntryStep[] {
  return [['folder-root', folder, 'nosuid', 'nodev'], ...machineSteps(), ...kernelSteps()]
}

/**
 * Plans the steps. Only folders of the container itself are made here; everything else happens when the steps are
 * followed.
 */
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

/** Mounts the kernel's file systems and the devices that every container has. */
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

/** The machine's own device: it can be used, but its owner and mode cannot be changed. */
function deviceStep(name: string): EntryStep {
  return ['bind', `/dev/${name}`, '', `/dev/${name}`, 'ro', 'nosuid', 'noexec']
}

function deviceSteps(): EntryStep[] {
  return [
    // Device files that root in the container makes do not work.
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

/** Shows the container only its own cgroups: a single one in the unified hierarchy, else one for each controller. */
function groupSteps(groups: readonly string[]): EntryStep[] {
  const place = '/sys/fs/cgroup'
  const unified = groups.find((folder) => existsSync(join(folder, 'cgroup.controllers')))
  if (unified !== undefined) return [['bind', unified, '', place, 'ro', 'nosuid', 'nodev', 'noexec']]
  // Of two of a controller it is in the later one.
  const ofControllers = new Map(
    groups.flatMap((folder) => {
      const [, controller] = /^\/sys\/fs\/cgroup\/([a-z,_]+)\//.exec(folder) ?? []
      return controller === undefined ? [] : [[controller, folder] as const]
    }),
  )
  const controllers = [...ofControllers].map(([controller, folder]): EntryStep => [
    'bind',
    folder,
    '',
    `${place}/${controller}`,
    'ro',
    'nosuid',
    'nodev',
    'noexec',
  ])
  if (controllers.length === 0) return []
  return [
    ['mount', 'tmpfs', place, 'nosuid,nodev,noexec', 'mode=0755', 'size=64k'],
    ...controllers,
    ['only-read', place],
  ]
}
