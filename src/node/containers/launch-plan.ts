import type { Container } from '../../resources/pod.ts'
import type { CardDevices } from '../cards/card-devices.ts'
import type { ContainerLaunch } from '../pod-runtime.ts'
import { ContainerRefused } from '../pod-runtime.ts'
import { containerVariables } from '../environment/container-environment.ts'
import type { FoundImage } from '../images/image-store.ts'
import { imageCommand, imageEnvironment } from '../images/image-config.ts'
import { cardLibraryFolder } from '../isolation/card-libraries.ts'
import { containerParts } from '../pods/pod-parts.ts'
import { type Mount, replaceMountPaths } from '../volumes/volume-mounts.ts'
import { commandRoom, expandVariables, requireTellable } from '../environment/variable-expansion.ts'

/** What the operating system is given. */
export interface LaunchPlan {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly workingDir: string
  readonly mounts: readonly Mount[]
}

export interface LaunchSurroundings {
  readonly image: FoundImage
  /** Resolves the container's mounts, whose paths may contain variables. */
  mounts(variables: ReadonlyMap<string, string>): readonly Mount[]
  /** Whether volumes are really mounted. If not, mount paths are replaced in the command and the variables. */
  readonly isolated: boolean
  /** Files that are replaced in any case. */
  readonly replaced?: readonly Mount[]
  /** How the container names its cards, if not by the machine's numbers. */
  readonly ownCards?: Pick<CardDevices, 'visible' | 'ids'> | undefined
  /** The home directory, also the working directory unless another is given. */
  readonly home: string
  readonly hostIP: string
  readonly hostIP6?: string | undefined
  /** Variables from the machine (PATH and the like), and the marks that identify this node's processes. */
  readonly machineEnv: Readonly<Record<string, string>>
  readonly marks: Readonly<Record<string, string>>
}

/** Turns a container into a command line: `command` replaces the image's ENTRYPOINT, `args` follow it. */
export function planLaunch(launch: ContainerLaunch, surroundings: LaunchSurroundings): LaunchPlan {
  const { pod, container, podIP, podIP6, cards } = launch
  const { image, home, hostIP, hostIP6, marks, isolated } = surroundings
  if (image.found === 'root' && !isolated) {
    throw new ContainerRefused(
      'CreateContainerError',
      'images with files of their own need namespaces, which this node does not have',
    )
  }

  // Container runtimes set TERM, too; the container's own value wins.
  const terminal = containerParts(container).tty ? { TERM: 'xterm' } : {}
  const own = { HOME: home, HOSTNAME: launch.names?.hostname ?? pod.metadata.name, POD_IP: podIP, ...terminal }
  const ofImage =
    image.found === 'root'
      ? { ...own, ...imageEnvironment(image.config) }
      : { ...surroundings.machineEnv, ...own, ...image.env }
  const given = { ...ofImage, ...launch.serviceVariables }
  const facts = { podIP, podIP6, hostIP, hostIP6, allocatable: launch.allocatable }
  const variables = containerVariables(pod, container, facts, new Map(Object.entries(given)), launch.references)
  const mounts = surroundings.mounts(variables)
  const replaced = [...(surroundings.replaced ?? []), ...(isolated ? [] : mounts)]
  const room = commandRoom()
  const inside = (text: string) => replaceMountPaths(room(expandVariables(text, variables)), replaced)

  const words = commandOf(image, container)
  const [program, ...args] = [...words.fromImage, ...words.fromContainer.map(inside)]
  if (program === undefined || program === '') {
    throw new ContainerRefused('CreateContainerError', `container "${container.name}" has no command`)
  }
  const env = new Map([...variables].map(([name, value]) => [name, replaceMountPaths(value, replaced)]))
  // Set last, so that no manifest can make two Pods share a card, or a process hide whose it is.
  env.set('CUDA_VISIBLE_DEVICES', surroundings.ownCards?.visible ?? cards.join(','))
  if (surroundings.ownCards?.ids) env.set('NVIDIA_VISIBLE_DEVICES', surroundings.ownCards.ids)
  // Our indices follow the bus order, as the driver's list does; CUDA would order cards by speed.
  env.set('CUDA_DEVICE_ORDER', 'PCI_BUS_ID')
  if (launch.cardsSimulated && cards.length > 0) env.set('SLUICE_SIMULATED_CARDS', 'true')
  if (image.found === 'root' && cards.length > 0) env.set('LD_LIBRARY_PATH', withDriver(env.get('LD_LIBRARY_PATH')))
  for (const [name, value] of Object.entries(marks)) env.set(name, value)
  const told = Object.fromEntries(env)
  requireTellable([program, ...args], told)
  const ofImageDir = image.found === 'root' ? image.config.workingDir || '/' : home
  const workingDir = isolated ? container.workingDir || ofImageDir : workingDirOf(launch, mounts, home)
  if (!workingDir.startsWith('/') || workingDir.split('/').includes('..')) {
    throw new ContainerRefused('CreateContainerConfigError', `workingDir "${workingDir}" must be an absolute path`)
  }
  return { program, args, env: told, workingDir, mounts }
}

/** Libraries of the image come first: they may be newer. */
function withDriver(path: string | undefined): string {
  const folders = (path ?? '').split(':').filter((folder) => folder !== '')
  return [...new Set([...folders, cardLibraryFolder])].join(':')
}

function commandOf(image: FoundImage, { command, args }: Container) {
  if (image.found === 'root') return imageCommand(image.config, command, args)
  return { fromImage: command ? [] : image.command, fromContainer: [...(command ?? []), ...(args ?? [])] }
}

function workingDirOf({ container }: ContainerLaunch, mounts: readonly Mount[], home: string): string {
  const { workingDir } = container
  if (workingDir === undefined || workingDir === '') return home
  const real = replaceMountPaths(workingDir, mounts)
  if (real !== workingDir) return real
  const message = `workingDir "${workingDir}" is not inside a volume of the container; other places need namespaces, which this node does not have`
  throw new ContainerRefused('CreateContainerConfigError', message)
}
