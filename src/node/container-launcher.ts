import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { parseQuantity } from '../resources/quantity.ts'
import type { SpawnCommand } from './container-process.ts'
import type { ImageStore } from './image-store.ts'
import { type Cgroups, removeGroups } from './isolation/cgroups.ts'
import { layOutRoot } from './isolation/container-root.ts'
import { containerScript } from './isolation/container-script.ts'
import { type Isolation, isExecutable } from './isolation/detect-isolation.ts'
import { type NamespaceTools, plainCommand } from './isolation/isolated-command.ts'
import { type LaunchPlan, planLaunch } from './launch-plan.ts'
import type { PodFolders } from './pod-folders.ts'
import { containerParts } from './pod-parts.ts'
import type { ContainerRecord } from './pod-records.ts'
import { type ContainerLaunch, ContainerRefused } from './pod-runtime.ts'
import { type Mount, isFolder, onMachine, openInside, resolveMounts } from './volume-mounts.ts'

export interface ContainerLauncherOptions {
  readonly images: ImageStore
  readonly folders: PodFolders
  readonly isolation: Isolation
  readonly cgroups: Cgroups
  readonly hostIP: string
  readonly hostPathAllowed: boolean
  marks(launch: ContainerLaunch): Readonly<Record<string, string>>
}

/** What is started as it is, or what the first process of a container's namespaces is told. */
export type PreparedCommand =
  | ({ readonly mode: 'paths' } & SpawnCommand)
  | { readonly mode: 'namespaces'; readonly tools: NamespaceTools; readonly script: string }

/** A container ready to run: what to start, what to remember of it, and what to let go of once it runs. */
export interface PreparedContainer {
  readonly command: PreparedCommand
  readonly record: Omit<ContainerRecord, 'pid' | 'startTime' | 'startedAt'>
  /** Closes what only the start needs. */
  release(): void
}

/** What of this program's own environment its Pods get; nothing else leaks into them. */
const inheritedVariables = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'LD_LIBRARY_PATH', 'SSL_CERT_FILE', 'SSL_CERT_DIR']
const defaultMessagePath = '/dev/termination-log'
const shell = '/bin/sh'

/** Turns a container's spec into a command for this machine, with its mounts, limits and files in place. */
export class ContainerLauncher {
  readonly #options: ContainerLauncherOptions

  constructor(options: ContainerLauncherOptions) {
    this.#options = options
  }

  /** `output` is the file it writes to, `stdin` the one (a FIFO) it reads from, where it has one. */
  prepare(
    launch: ContainerLaunch,
    output: string,
    stdin: { readonly path: string; readonly descriptor: number } | undefined,
  ): PreparedContainer {
    const { isolation, folders, cgroups } = this.#options
    const { pod, container, attempt, cards } = launch
    const uid = pod.metadata.uid ?? ''
    const own = realpathSync.native(folders.container(uid, container.name))
    const parts = containerParts(container)
    const message = messageMount(parts.terminationMessagePath, join(own, 'message'))
    const isolated = isolation.mode === 'namespaces'
    const plan = this.#plan(launch, message, isolated)
    const groups = cgroups.make(`${uid}.${container.name}`, limitsOf(launch))
    const handles: number[] = []
    const release = () => {
      for (const descriptor of handles.splice(0)) closeSync(descriptor)
    }
    const entered = groups.map((folder) => join(folder, 'cgroup.procs'))
    const words = [plan.program, ...plan.args]
    let command: PreparedCommand
    const exitFile = isolated ? join(own, 'exit') : ''
    try {
      if (isolation.mode === 'namespaces') {
        const mounts = [...plan.mounts, ...(message.mountPath === defaultMessagePath ? [] : [message])]
        requireProgram(plan, mounts)
        if (!isFolder(onMachine(plan.workingDir, mounts))) mounts.push(emptyFolder(plan.workingDir, join(own, 'work')))
        const sources = mounts.map((mount) => {
          if (mount.partial !== true) return mount
          // Kept open until it is mounted, so that nothing else can get its number meanwhile.
          const descriptor = openInside(mount)
          handles.push(descriptor)
          const { dev, ino } = fstatSync(descriptor, { bigint: true })
          return { ...mount, identity: `${dev}:${ino}` }
        })
        const table = join(own, 'table')
        const laidOut = layOutRoot(join(own, 'root'), sources)
        writeFileSync(table, laidOut.table)
        writeFileSync(exitFile, '', { mode: 0o600 })
        const { workingDir, env } = plan
        const input = stdin && { path: stdin.path, ends: parts.stdinOnce }
        const program = { laidOut, table, workingDir, cgroups: entered, words, env, stdin: input, output, exitFile }
        const { tools } = isolation
        command = { mode: 'namespaces', tools, script: containerScript(tools, program) }
      } else {
        const whole = plainCommand(shell, entered, words)
        command = { mode: 'paths', words: whole, env: plan.env, cwd: plan.workingDir, stdin: stdin?.descriptor }
      }
    } catch (error) {
      release()
      removeGroups(groups)
      throw error
    }
    const mounts = [message, ...(isolated ? [] : plan.mounts)].map(({ mountPath, folder, root, readOnly }) => ({
      mountPath,
      folder,
      root,
      readOnly,
    }))
    const record = {
      attempt,
      cards: [...cards],
      isolated,
      workingDir: plan.workingDir,
      cgroups: groups,
      mounts,
      messageFile: message.folder,
      messageFromLog: parts.terminationMessagePolicy === 'FallbackToLogsOnError',
      exitFile,
      stdinFile: stdin?.path ?? '',
      env: plan.env,
    }
    return { command, record, release }
  }

  #plan(launch: ContainerLaunch, message: Mount, isolated: boolean): LaunchPlan {
    const { images, folders, hostIP, hostPathAllowed } = this.#options
    const { pod, container } = launch
    const uid = pod.metadata.uid ?? ''
    const volumeFolders = {
      claim: (name: string) => folders.claim(pod.metadata.namespace ?? 'default', name),
      scratch: (volume: string, inMemory: boolean) => folders.volume(uid, volume, inMemory),
      hostPathAllowed,
    }
    return planLaunch(launch, {
      image: images.lookup(container.image ?? ''),
      mounts: (variables) => resolveMounts(pod, container, volumeFolders, variables),
      // Its default place is among the machine's devices, which are better not mirrored for a file that few write to.
      replaced: isolated && message.mountPath !== defaultMessagePath ? [] : [message],
      isolated,
      podFolder: folders.home(uid),
      hostIP,
      machineEnv: machineEnvironment(),
      marks: this.#options.marks(launch),
    })
  }
}

/** A FIFO's two sides: the program's, and (where its end is to be seen) one that keeps it from ending too early. */
export function openStdin(path: string, once: boolean): { readonly descriptor: number; readonly held?: number } {
  // Opened for both directions, it neither blocks here nor ever ends for the program.
  const both = openSync(path, constants.O_RDWR)
  if (!once) return { descriptor: both }
  const descriptor = openSync(path, constants.O_RDONLY)
  const held = openSync(path, constants.O_WRONLY)
  closeSync(both)
  return { descriptor, held }
}

/** `file` is in a folder whose path has no links; anything that was there before is gone. */
function messageMount(mountPath: string, file: string): Mount {
  rmSync(file, { force: true })
  writeFileSync(file, '', { mode: 0o666 })
  return { mountPath, folder: file, root: file, readOnly: false }
}

/** A working directory that nothing provides is an empty one, as in an image without it. */
function emptyFolder(mountPath: string, folder: string): Mount {
  if (!isAbsolute(mountPath) || mountPath.split('/').includes('..')) {
    throw new ContainerRefused('CreateContainerConfigError', `workingDir "${mountPath}" must be an absolute path`)
  }
  mkdirSync(folder, { recursive: true })
  return { mountPath, folder, root: folder, readOnly: false }
}

/** Asked for here: inside its namespaces a program that is not there would only be an exit code. */
function requireProgram({ program, env, workingDir }: LaunchPlan, mounts: readonly Mount[]): void {
  const there = program.includes('/')
    ? existsSync(onMachine(isAbsolute(program) ? program : join(workingDir, program), mounts))
    : (env['PATH'] ?? '').split(delimiter).some((folder) => isExecutable(onMachine(join(folder, program), mounts)))
  if (!there) throw new ContainerRefused('RunContainerError', `cannot run "${program}": there is no such program`)
}

function limitsOf({ container }: ContainerLaunch) {
  const { memory, cpu } = container.resources?.limits ?? {}
  return {
    memoryBytes: memory === undefined ? undefined : parseQuantity(memory),
    cpus: cpu === undefined ? undefined : parseQuantity(cpu),
  }
}

function machineEnvironment(): Record<string, string> {
  return Object.fromEntries(
    inheritedVariables.flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
