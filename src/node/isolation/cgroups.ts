import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import { type CgroupPlace, type Controller, cgroupPlaces, controllers } from './cgroup-places.ts'
import { limitContainer, limitParent } from './cgroup-limits.ts'
import { namesInFolder } from '../names-in-folder.ts'

export interface ContainerLimits {
  readonly memoryBytes?: number | undefined
  readonly cpus?: number | undefined
  /** How many processes and threads. */
  readonly pids?: number | undefined
}

/** Which limits are enforced here, and why others are not. */
export interface LimitSupport {
  readonly memory: boolean
  readonly cpu: boolean
  readonly pids: boolean
  readonly message: string
}

const aheadPrefix = 'spare-'
/** How long to wait for processes that are still ending in a leftover group. */
const endingDeadlineMs = 2_000
const endingLookMs = 20

/** Makes cgroups for containers with limits, below the group this program is in. Foreign groups are never touched. */
export class Cgroups {
  readonly support: LimitSupport
  readonly #places: ReadonlyMap<Controller, CgroupPlace>
  readonly #group: string
  /** What all containers may have together, and whether the kernel has been told. */
  readonly #together = new Map<Controller, { readonly most: number; isSet: boolean }>()
  #prepared = false

  constructor(nodeId: string, places: ReadonlyMap<Controller, CgroupPlace>) {
    this.#group = `sluice-${nodeId.slice(0, 8)}`
    const problems = new Map([...places].map(([controller, place]) => [controller, problemOf(place, this.#group)]))
    this.#places = new Map([...places].filter(([controller]) => problems.get(controller) === undefined))
    this.support = {
      memory: this.#places.has('memory'),
      cpu: this.#places.has('cpu'),
      pids: this.#places.has('pids'),
      message: describe(this.#places, problems),
    }
  }

  static onThisMachine(nodeId: string): Cgroups {
    const mountinfo = readText('/proc/self/mountinfo') ?? ''
    const unified = (folder: string) => words(readText(join(folder, 'cgroup.controllers')))
    return new Cgroups(nodeId, cgroupPlaces(mountinfo, readText('/proc/self/cgroup') ?? '', unified))
  }

  static none(): Cgroups {
    return new Cgroups('none', new Map())
  }

  /**
   * Limits all containers together, whatever each has for itself: one that starts from now on is in a group of every
   * controller that is limited. Returns why a limit does not hold yet, as one below what is in use; it is set again
   * with every container that starts.
   */
  limitTogether({ memoryBytes, cpus }: Pick<ContainerLimits, 'memoryBytes' | 'cpus'>): string | undefined {
    const isLimited = memoryBytes !== undefined || cpus !== undefined
    // No single cluster can take the numbers of processes away from all others.
    const wanted = entriesOf({ memoryBytes, cpus, pids: isLimited ? Math.floor(processNumbers() / 2) : undefined })
    for (const [controller, most] of wanted) {
      const place = this.#places.get(controller)
      if (!place) continue
      if (most !== undefined) this.#together.set(controller, { most, isSet: false })
      else this.#unlimit(controller, place)
    }
    return this.#setTogether()
  }

  #unlimit(controller: Controller, { folder, version }: CgroupPlace): void {
    this.#together.delete(controller)
    const parent = join(folder, this.#group)
    // Also one that a former run of this program has limited.
    if (existsSync(parent)) limitParent(parent, version, controller, undefined)
  }

  #setTogether(): string | undefined {
    let problem: string | undefined
    for (const [controller, limit] of this.#together) {
      const place = this.#places.get(controller)
      if (limit.isSet || !place) continue
      try {
        this.#prepare()
        limitParent(join(place.folder, this.#group), place.version, controller, limit.most)
        limit.isSet = true
      } catch (error) {
        problem = errorMessage(error)
      }
    }
    return problem
  }

  /**
   * Makes a group with these limits and returns its folders; none if there is nothing to enforce or no way to. A
   * process that is in the groups `inside` needs no other only to be limited together with all.
   */
  make(name: string, limits: ContainerLimits, inside: readonly string[] = []): string[] {
    const made = new Set<string>()
    this.#setTogether()
    try {
      for (const [controller, value] of entriesOf(limits)) {
        const place = this.#places.get(controller)
        if (!place || (value === undefined && !this.#needsGroup(controller, place, inside))) continue
        this.#prepare()
        const folder = join(place.folder, this.#group, name)
        mkdirSync(folder, { recursive: true })
        made.add(folder)
        if (value !== undefined) {
          limitContainer(folder, place.version, controller, this.#possible(controller, place, value))
        }
      }
    } catch (error) {
      removeGroups([...made])
      throw new Error(`limits cannot be set: ${errorMessage(error)}`, { cause: error })
    }
    return [...made]
  }

  #needsGroup(controller: Controller, { folder }: CgroupPlace, inside: readonly string[]): boolean {
    const parent = join(folder, this.#group)
    return this.#together.has(controller) && !inside.some((group) => dirname(group) === parent)
  }

  /** The old hierarchy refuses a group more processors than the one it is in has. */
  #possible(controller: Controller, { version }: CgroupPlace, value: number): number {
    const together = this.#together.get(controller)
    return controller === 'cpu' && version === 'v1' && together ? Math.min(value, together.most) : value
  }

  /**
   * Makes a group for the next container, whichever it is, so that a process can enter it ahead: entering takes
   * milliseconds.
   */
  makeAhead(name: string): string[] {
    return this.make(`${aheadPrefix}${name}`, { pids: mostProcesses() })
  }

  /**
   * The groups of a container whose process is already in those made ahead: which it still has to enter, and all of
   * them.
   */
  makeFor(name: string, limits: ContainerLimits, ahead: readonly string[]): { entered: string[]; all: string[] } {
    const { memoryBytes, cpus } = limits
    const isUnified = [...this.#places.values()].some(({ version }) => version === 'v2')
    // In the unified hierarchy a process is in a single group, which must have all limits.
    const isLimited = ahead.length > 0 && !(isUnified && (memoryBytes !== undefined || cpus !== undefined))
    const pids = this.support.pids && !isLimited ? mostProcesses() : undefined
    const entered = this.make(name, { ...limits, pids }, isLimited ? ahead : [])
    return { entered, all: [...ahead, ...entered] }
  }

  /**
   * Removes groups that killed runs left, whether made ahead or for containers that were never recorded; `kept` are
   * those in use. Waits a moment for processes that are still ending. Call it before anything is started, while new
   * groups cannot be mistaken for leftovers.
   */
  async removeLeft(kept: ReadonlySet<string>, clock: Clock): Promise<void> {
    const deadline = clock.now() + endingDeadlineMs
    for (;;) {
      removeGroups(this.#groupsBut(kept))
      if (this.#groupsBut(kept).length === 0 || clock.now() >= deadline) return
      await clock.sleep(endingLookMs)
    }
  }

  #groupsBut(kept: ReadonlySet<string>): string[] {
    const parents = new Set([...this.#places.values()].map(({ folder }) => join(folder, this.#group)))
    const isGroup = (folder: string) => existsSync(join(folder, 'cgroup.procs'))
    const groups = [...parents].flatMap((parent) => namesInFolder(parent).map((name) => join(parent, name)))
    return groups.filter((folder) => !kept.has(folder) && isGroup(folder))
  }

  /** Removes the parent folders of the groups, once they are empty. */
  close(): void {
    if (!this.#prepared) return
    removeGroups([...this.#places.values()].map(({ folder }) => join(folder, this.#group)))
  }

  /**
   * In the unified hierarchy only groups without processes of their own can pass controllers on, so this program moves
   * into a subgroup.
   */
  #prepare(): void {
    if (this.#prepared) return
    const unified = [...this.#places].filter(([, { version }]) => version === 'v2')
    const folder = unified[0]?.[1].folder
    for (const { folder: parent } of this.#places.values()) mkdirSync(join(parent, this.#group), { recursive: true })
    if (folder !== undefined) {
      const enable = unified.map(([controller]) => `+${controller}`).join(' ')
      const handedDown = words(readText(join(folder, 'cgroup.subtree_control')))
      if (unified.some(([controller]) => !handedDown.includes(controller))) {
        if (existsSync(join(folder, 'cgroup.type'))) {
          const own = join(folder, `${this.#group}-self`)
          mkdirSync(own, { recursive: true })
          // Only this program and its children can be here; otherwise the group would not have been used.
          for (const pid of words(readText(join(folder, 'cgroup.procs')))) moveProcess(own, pid)
        }
        writeFileSync(join(folder, 'cgroup.subtree_control'), enable)
      }
      writeFileSync(join(folder, this.#group, 'cgroup.subtree_control'), enable)
    }
    this.#prepared = true
  }
}

/** More than any engine needs, but few enough that others can still start processes. */
function mostProcesses(): number {
  return Math.min(16_384, Math.floor(processNumbers() / 4))
}

function processNumbers(): number {
  return Number(readText('/proc/sys/kernel/pid_max') ?? 32_768)
}

function entriesOf({ memoryBytes, cpus, pids }: ContainerLimits): [Controller, number | undefined][] {
  return [
    ['memory', memoryBytes],
    ['cpu', cpus],
    ['pids', pids],
  ]
}

/** Whether the kernel killed a process of these groups for lack of memory. */
export function wasOutOfMemory(folders: readonly string[]): boolean {
  return folders.some((folder) => {
    const text = readText(join(folder, 'memory.events')) ?? readText(join(folder, 'memory.oom_control')) ?? ''
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0) > 0
  })
}

/** Removes empty groups; a group with processes stays. */
export function removeGroups(folders: readonly string[]): void {
  for (const folder of folders) {
    try {
      rmdirSync(folder)
    } catch {
      // It does not exist, or is not empty yet.
    }
  }
}

function problemOf({ version, folder }: CgroupPlace, group: string): string | undefined {
  try {
    accessSync(folder, constants.W_OK)
    if (version === 'v1') return undefined
    accessSync(join(folder, 'cgroup.subtree_control'), constants.W_OK)
  } catch {
    return `${folder} is not this user's to write`
  }
  // The machine's root group may have processes and pass controllers on, too.
  if (!existsSync(join(folder, 'cgroup.type')) || existsSync(join(folder, `${group}-self`))) return undefined
  const others = words(readText(join(folder, 'cgroup.procs'))).filter((pid) => Number(pid) !== process.pid)
  if (others.length === 0) return undefined
  return `${folder} also holds other processes, which are not this program's to move`
}

function describe(
  places: ReadonlyMap<Controller, CgroupPlace>,
  problems: ReadonlyMap<Controller, string | undefined>,
): string {
  const enforced = [...places].map(([controller, { version }]) => `${controller} (cgroup ${version})`)
  const refused = [...new Set([...problems.values()].filter((problem) => problem !== undefined))]
  const missing = controllers.filter((controller) => !problems.has(controller))
  return [
    enforced.length > 0 ? `Limits are enforced for ${enforced.join(' and ')}.` : 'Limits are not enforced.',
    ...refused.map((problem) => `${problem}.`),
    ...(missing.length > 0 ? [`This machine has no cgroup controller for ${missing.join(' and ')}.`] : []),
  ].join(' ')
}

function moveProcess(folder: string, pid: string): void {
  try {
    writeFileSync(join(folder, 'cgroup.procs'), pid)
  } catch (error) {
    // A process that has ended is not in the way.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

function words(text: string | undefined): string[] {
  return text?.split(/\s+/).filter((word) => word !== '') ?? []
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}
