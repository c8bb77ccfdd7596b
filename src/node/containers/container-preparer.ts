import { chmodSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { basename, delimiter, isAbsolute, join } from 'node:path'
import { parseQuantity } from '../../resources/quantity.ts'
import { type CardDevices, cardDevices } from '../cards/card-devices.ts'
import type { ContainerInput } from './container-input.ts'
import { makeExitFile } from './exit-file.ts'
import { type FoundImage, type ImageStore, repositoryOf } from '../images/image-store.ts'
import { findImageUser } from '../images/roots/image-user.ts'
import type { RootImage } from '../images/imported-images.ts'
import { type Cgroups, removeGroups } from '../isolation/cgroups.ts'
import { containerEntry } from '../isolation/container-entry.ts'
import { type ContainerScript, containerScript } from '../isolation/container-script.ts'
import { type RootBase, clearOwnRoot, viewSteps } from '../isolation/container-view.ts'
import { type Isolation, isExecutable } from '../isolation/detect-isolation.ts'
import { type NamespaceTools, plainTools } from '../isolation/isolated-command.ts'
import { type LaunchPlan, planLaunch } from './launch-plan.ts'
import type { PodFolders } from '../pods/pod-folders.ts'
import { podLimit } from '../pods/pod-limits.ts'
import { namesInFolder } from '../names-in-folder.ts'
import { containerParts } from '../pods/pod-parts.ts'
import type { ContainerRecord } from '../pods/pod-records.ts'
import { type ContainerLaunch, ContainerRefused } from '../pod-runtime.ts'
import { rightsSteps } from '../security/rights-steps.ts'
import { type NodePowers, type SecurityPlan, planSecurity, volumeGroup } from '../security/security-plan.ts'
import { planSysctls } from '../security/sysctls.ts'
import { type Mount, onMachine, resolveMounts } from '../volumes/volume-mounts.ts'
import type { VolumeGroups } from '../volumes/volume-groups.ts'

export interface ContainerPreparerOptions {
  readonly images: ImageStore
  readonly folders: PodFolders
  readonly isolation: Isolation
  readonly cgroups: Cgroups
  readonly volumeGroups: VolumeGroups
  readonly hostIP: string
  readonly hostIP6?: string | undefined
  readonly hostPathAllowed: boolean
  /** Paths of the machine that are hidden from every container. */
  readonly covered: readonly string[]
  marks(launch: ContainerLaunch): Readonly<Record<string, string>>
}

/** A container that is ready to run: the script for its first process, and what to record about it. */
export interface PreparedContainer {
  readonly script: ContainerScript
  readonly record: Omit<ContainerRecord, 'pid' | 'startTime' | 'startedAt' | 'sharesProcesses'>
}

/** The files on the machine that a container's process reads, writes and leaves behind. */
interface ContainerFiles {
  readonly output: string
  readonly input: ContainerInput
  readonly exitFile: string
  /** The folder the node keeps for this container. */
  readonly own: string
  readonly message: Mount
}

/** The only variables of this program that containers inherit. */
const inheritedVariables = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'LD_LIBRARY_PATH', 'SSL_CERT_FILE', 'SSL_CERT_DIR']
/** Where containers without an image see the folder that their Pod's containers share. */
const homeInside = '/home/pod'

/** Turns a container's spec into a command for this machine, with its root, rights, limits and files in place. */
export class ContainerPreparer {
  readonly #options: ContainerPreparerOptions

  constructor(options: ContainerPreparerOptions) {
    this.#options = options
  }

  /** The container's output is appended to the file `output`. `groupsAhead` are cgroups its process is already in. */
  async prepare(
    launch: ContainerLaunch,
    output: string,
    input: ContainerInput,
    groupsAhead: readonly string[],
    signal: AbortSignal,
  ): Promise<PreparedContainer> {
    const { images } = this.#options
    const { pod, container } = launch
    const image = images.lookup(container.image ?? '')
    if (image.found === 'nothing') throw new ContainerRefused('ErrImagePull', image.message)
    const holder = { podUid: pod.metadata.uid ?? '', container: container.name }
    if (image.found === 'root' && images.roots?.hold(image, holder) === false) {
      throw new ContainerRefused('ErrImagePull', `the image "${container.image}" has just been removed`)
    }
    try {
      return await this.#prepare(launch, image, output, input, groupsAhead, signal)
    } catch (error) {
      if (image.found === 'root') images.roots?.letGo(image, holder)
      throw error
    }
  }

  async #prepare(
    launch: ContainerLaunch,
    image: FoundImage,
    output: string,
    input: ContainerInput,
    groupsAhead: readonly string[],
    signal: AbortSignal,
  ): Promise<PreparedContainer> {
    const { isolation, folders, cgroups } = this.#options
    const { pod, container, attempt, cards } = launch
    const uid = pod.metadata.uid ?? ''
    const security = this.#security(launch, image)
    const own = realpathSync.native(folders.container(uid, container.name))
    const parts = containerParts(container)
    const message = messageMount(parts.terminationMessagePath, join(own, 'message'))
    const isolated = isolation.mode === 'namespaces'
    const plan = this.#plan(launch, image, security, message)
    await this.#giveVolumes(launch, plan.mounts, signal)
    const files: ContainerFiles = { output, input, exitFile: join(own, 'exit'), own, message }
    const groups = cgroups.makeFor(`${uid}.${container.name}`, limitsOf(launch), groupsAhead)
    let script: ContainerScript
    try {
      makeExitFile(files.exitFile)
      script =
        isolation.mode === 'namespaces'
          ? await this.#entry(launch, { plan, image, security, files, groups }, isolation.tools)
          : plainScript(plan, files, groups.entered)
    } catch (error) {
      removeGroups(groups.entered)
      throw error
    }
    const { readOnlyRoot: _readOnlyRoot, ...rights } = security
    const record = {
      attempt,
      cards: [...cards],
      isolated,
      network: launch.network ?? '',
      workingDir: plan.workingDir,
      cgroups: groups.all,
      mounts: isolated ? [] : [message, ...plan.mounts].map(placeOf),
      messageFile: message.folder,
      messageFromLog: parts.terminationMessagePolicy === 'FallbackToLogsOnError',
      exitFile: files.exitFile,
      stdinFile: input.stdin?.path ?? '',
      controlFile: input.control ?? '',
      env: plan.env,
      ...(isolated && { rights: { ...rights, groups: [...rights.groups], capabilities: [...rights.capabilities] } }),
      imageId: image.found === 'root' ? image.id : '',
    }
    return { script, record }
  }

  async #entry(
    launch: ContainerLaunch,
    parts: {
      readonly plan: LaunchPlan
      readonly image: FoundImage
      readonly security: SecurityPlan
      readonly files: ContainerFiles
      readonly groups: { readonly entered: readonly string[]; readonly all: readonly string[] }
    },
    tools: NamespaceTools,
  ): Promise<ContainerScript> {
    const { plan, image, security, files, groups } = parts
    const { own, message, output, exitFile, input } = files
    const sysctls = planSysctls(launch.pod, this.#powers(launch))
    if ('refused' in sysctls) throw new ContainerRefused('CreateContainerConfigError', sysctls.refused)
    const base = rootBase(image)
    if (base.kind === 'image' && !tools.layers) {
      const reason = 'images with files of their own need overlayfs, which cannot be mounted here'
      throw new ContainerRefused('CreateContainerError', reason)
    }
    await clearOwnRoot(own)
    const view = viewSteps({
      base,
      own,
      mounts: [...plan.mounts, message, ...nameFiles(launch, own), ...this.#homeMount(launch, base)],
      readOnlyRoot: security.readOnlyRoot,
      cards: devicesOf(launch).names,
      groups: groups.all,
      covered: this.#options.covered,
      workingDir: plan.workingDir,
      asUser: tools.asUser,
    })
    return containerEntry({
      users: tools.asUser ? { uid: security.uid, gid: security.gid } : undefined,
      cgroups: groups.entered.map((folder) => join(folder, 'cgroup.procs')),
      hostname: launch.names?.hostname,
      sysctls: sysctls.settings,
      view,
      root: base.kind === 'machine' ? join(own, 'root') : undefined,
      workingDir: plan.workingDir,
      env: plan.env,
      rights: rightsSteps(security, tools.machine, tools.asUser),
      words: [plan.program, ...plan.args],
      stdin: input.stdin,
      control: input.control,
      terminal: input.terminal,
      output,
      exitFile,
    })
  }

  #keptMount({ pod, container }: ContainerLaunch, image: FoundImage): Mount[] {
    if (image.found !== 'program' || image.kept === undefined) return []
    const { namespace = 'default' } = pod.metadata
    const folder = realpathSync.native(this.#options.folders.kept(namespace, repositoryOf(container.image ?? '')))
    chmodSync(folder, 0o777)
    return [{ mountPath: image.kept, folder, root: folder, readOnly: false }]
  }

  #homeMount({ pod }: ContainerLaunch, base: RootBase): Mount[] {
    if (base.kind === 'image') return []
    const folder = realpathSync.native(this.#options.folders.home(pod.metadata.uid ?? ''))
    chmodSync(folder, 0o777)
    return [{ mountPath: homeInside, folder, root: folder, readOnly: false }]
  }

  #plan(launch: ContainerLaunch, image: FoundImage, security: SecurityPlan, message: Mount): LaunchPlan {
    const { folders, hostIP, hostIP6, hostPathAllowed, isolation } = this.#options
    const { pod, container } = launch
    const uid = pod.metadata.uid ?? ''
    const isolated = isolation.mode === 'namespaces'
    const volumeFolders = {
      claim: (name: string) => folders.claim(pod.metadata.namespace ?? 'default', name),
      scratch: (volume: string, inMemory: boolean) => folders.volume(uid, volume, inMemory),
      hostPathAllowed,
    }
    return planLaunch(launch, {
      image,
      mounts: (variables) => [
        ...resolveMounts(pod, container, volumeFolders, variables),
        ...this.#keptMount(launch, image),
      ],
      replaced: isolated ? [] : [message],
      isolated,
      ownCards: isolated ? devicesOf(launch) : undefined,
      home: isolated ? homeOf(image, security) : folders.home(uid),
      hostIP,
      hostIP6,
      machineEnv: machineEnvironment(),
      marks: this.#options.marks(launch),
    })
  }

  #security({ pod, container, network }: ContainerLaunch, image: FoundImage): SecurityPlan {
    const root = image.found === 'root' ? image.root : '/'
    const users = {
      configured: image.found === 'root' ? image.config.user : '',
      find: (user: string) => findImageUser(root, user),
    }
    const plan = planSecurity(pod, container, users, this.#powers({ network }))
    if ('refused' in plan) throw new ContainerRefused('CreateContainerConfigError', plan.refused)
    return plan
  }

  #powers({ network = '' }: { readonly network?: string | undefined }): NodePowers {
    const { isolation } = this.#options
    const isolated = isolation.mode === 'namespaces'
    const asUser = isolation.mode === 'namespaces' && isolation.tools.asUser
    return {
      isolated,
      asUser,
      // The networks of an ordinary user's Pods belong to Sluice's user namespace, not to that of a container.
      ownNetwork: network !== '' && !asUser,
      uid: process.getuid?.() ?? 0,
      gid: process.getgid?.() ?? 0,
    }
  }

  /** Gives the Pod's volumes to its group (fsGroup). Volumes filled from the cluster are already written for it. */
  async #giveVolumes({ pod }: ContainerLaunch, mounts: readonly Mount[], signal: AbortSignal): Promise<void> {
    const group = volumeGroup(pod)
    if (!group || process.getuid?.() !== 0) return
    const roots = new Set(mounts.filter(({ shared }) => shared === true).map(({ root }) => root))
    await this.#options.volumeGroups.give(pod.metadata.uid ?? '', roots, group, signal)
  }
}

function plainScript(
  plan: LaunchPlan,
  { output, input, exitFile }: ContainerFiles,
  groups: readonly string[],
): ContainerScript {
  requireProgram(plan)
  return containerScript({
    workingDir: plan.workingDir,
    cgroups: groups.map((folder) => join(folder, 'cgroup.procs')),
    words: [plan.program, ...plan.args],
    env: plan.env,
    envTool: plainTools.env,
    stdin: input.stdin,
    output,
    exitFile,
  })
}

/** Cards without a description are treated as cards of unknown kind. */
function devicesOf({ cards, cardFacts }: ContainerLaunch): CardDevices {
  const described = cardFacts ?? cards.map((index) => ({ index, kind: '', simulated: false }))
  return cardDevices(described, cards.length > 0 ? namesInFolder('/dev') : [])
}

function rootBase(image: FoundImage): RootBase {
  if (image.found === 'root') return { kind: 'image', files: realpathSync.native(image.root) }
  // The Node executable is always visible: the programs of this one run on it, also when a container has its own
  // command.
  return { kind: 'machine', visible: [process.execPath, ...image.visible] }
}

function homeOf(image: FoundImage, { uid }: SecurityPlan): string {
  if (image.found !== 'root') return homeInside
  return homeInImage(image, uid) || '/'
}

function homeInImage({ root, config }: RootImage, uid: number): string | undefined {
  const [configured = ''] = config.user.split(':')
  const named = findImageUser(root, configured)
  return named?.uid === uid ? named.home : findImageUser(root, String(uid))?.home
}

function placeOf({ mountPath, folder, root, readOnly }: Mount) {
  return { mountPath, folder, root, readOnly }
}

/** Makes an empty termination message file. `file` is in a folder whose path has no links. */
function messageMount(mountPath: string, file: string): Mount {
  rmSync(file, { force: true })
  writeFileSync(file, '')
  // Any user of the container may write it.
  chmodSync(file, 0o666)
  return { mountPath, folder: file, root: file, readOnly: false }
}

/** Writes `/etc/hosts` and the like for the container, except those it mounts itself. */
function nameFiles({ names, container }: ContainerLaunch, own: string): Mount[] {
  const mounted = new Set(containerParts(container).volumeMounts.map(({ mountPath }) => mountPath))
  return (names?.files ?? []).flatMap(({ path, text }) => {
    if (mounted.has(path)) return []
    const file = join(own, basename(path))
    writeFileSync(file, text, { mode: 0o644 })
    return [{ mountPath: path, folder: file, root: file, readOnly: false }]
  })
}

/** Refuses a program that does not exist. Without namespaces nothing else would: the shell would only exit with 127. */
function requireProgram({ program, env, workingDir, mounts }: LaunchPlan): void {
  const there = program.includes('/')
    ? isExecutable(onMachine(isAbsolute(program) ? program : join(workingDir, program), mounts))
    : (env['PATH'] ?? '').split(delimiter).some((folder) => isExecutable(onMachine(join(folder, program), mounts)))
  if (!there) throw new ContainerRefused('RunContainerError', `cannot run "${program}": there is no such program`)
}

/** An ephemeral container has no limits of its own: it gets those of the whole Pod. */
function limitsOf({ pod, container }: ContainerLaunch) {
  if (pod.spec.ephemeralContainers?.some(({ name }) => name === container.name)) {
    return { memoryBytes: podLimit(pod, 'memory') || undefined, cpus: podLimit(pod, 'cpu') || undefined }
  }
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
