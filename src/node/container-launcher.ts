import { closeSync, constants, fstatSync, mkdirSync, openSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { basename, delimiter, isAbsolute, join } from 'node:path'
import { parseQuantity } from '../resources/quantity.ts'
import { makeExitFile } from './exit-file.ts'
import type { ImageStore } from './image-store.ts'
import { type Cgroups, removeGroups } from './isolation/cgroups.ts'
import { layOutRoot } from './isolation/container-root.ts'
import { type ContainerScript, type ContainerView, containerScript } from './isolation/container-script.ts'
import { type Isolation, isExecutable } from './isolation/detect-isolation.ts'
import { type NamespaceTools, plainTools } from './isolation/isolated-command.ts'
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

/** A container ready to run: what its first process is told, what to remember of it, and what to let go of once it runs. */
export interface PreparedContainer {
  readonly script: ContainerScript
  readonly record: Omit<ContainerRecord, 'pid' | 'startTime' | 'startedAt'>
  /** Closes what only the start needs. */
  release(): void
}

/** What of this program's own environment its Pods get; nothing else leaks into them. */
const inheritedVariables = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'LD_LIBRARY_PATH', 'SSL_CERT_FILE', 'SSL_CERT_DIR']
const defaultMessagePath = '/dev/termination-log'

/** Turns a container's spec into a command for this machine, with its mounts, limits and files in place. */
export class ContainerLauncher {
  readonly #options: ContainerLauncherOptions

  constructor(options: ContainerLauncherOptions) {
    this.#options = options
  }

  /** `output` is the file it writes to, `stdin` the one (a FIFO) it reads from, where it has one. */
  async prepare(
    launch: ContainerLaunch,
    output: string,
    stdin: { readonly path: string } | undefined,
  ): Promise<PreparedContainer> {
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
    const exitFile = join(own, 'exit')
    let script: ContainerScript
    try {
      const mounts = isolated
        ? [...plan.mounts, ...(message.mountPath === defaultMessagePath ? [] : [message]), ...nameFiles(launch, own)]
        : []
      requireProgram(plan, mounts)
      const view =
        isolation.mode === 'namespaces' ? await this.#view(own, plan, mounts, isolation.tools, handles) : undefined
      makeExitFile(exitFile)
      script = containerScript({
        view,
        workingDir: plan.workingDir,
        cgroups: entered,
        words: [plan.program, ...plan.args],
        env: plan.env,
        envTool: view?.tools.env ?? plainTools.env,
        stdin: stdin && { path: stdin.path, ends: parts.stdinOnce },
        output,
        exitFile,
        hostname: isolated ? launch.names?.hostname : undefined,
      })
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
      network: launch.network ?? '',
      workingDir: plan.workingDir,
      cgroups: groups,
      mounts,
      messageFile: message.folder,
      messageFromLog: parts.terminationMessagePolicy === 'FallbackToLogsOnError',
      exitFile,
      stdinFile: stdin?.path ?? '',
      env: plan.env,
    }
    return { script, record, release }
  }

  /** `handles` gets what is to be kept open until it is mounted, so that nothing else can get its number meanwhile. */
  async #view(
    own: string,
    { workingDir }: LaunchPlan,
    planned: readonly Mount[],
    tools: NamespaceTools,
    handles: number[],
  ): Promise<ContainerView> {
    const hasFolder = isFolder(onMachine(workingDir, planned))
    const mounts = hasFolder ? planned : [...planned, emptyFolder(workingDir, join(own, 'work'))]
    const sources = mounts.map((mount) => {
      if (mount.partial !== true) return mount
      const descriptor = openInside(mount)
      handles.push(descriptor)
      const { dev, ino } = fstatSync(descriptor, { bigint: true })
      return { ...mount, identity: `${dev}:${ino}` }
    })
    const table = join(own, 'table')
    const laidOut = await layOutRoot(join(own, 'root'), sources)
    writeFileSync(table, laidOut.table)
    return { laidOut, table, tools }
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

/** The files of names, except where the container mounts something else. */
function nameFiles({ names, container }: ContainerLaunch, own: string): Mount[] {
  const mounted = new Set(containerParts(container).volumeMounts.map(({ mountPath }) => mountPath))
  return (names?.files ?? []).flatMap(({ path, text }) => {
    if (mounted.has(path)) return []
    const file = join(own, basename(path))
    writeFileSync(file, text, { mode: 0o644 })
    return [{ mountPath: path, folder: file, root: file, readOnly: false }]
  })
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
    ? isExecutable(onMachine(isAbsolute(program) ? program : join(workingDir, program), mounts))
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
