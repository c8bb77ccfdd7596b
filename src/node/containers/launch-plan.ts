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

/** Exactly what is handed to the operating system. */
export interface LaunchPlan {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly workingDir: string
  readonly mounts: readonly Mount[]
}

export interface LaunchSurroundings {
  readonly image: FoundImage
  /** The container's mounts; their paths may hold variables. */
  mounts(variables: ReadonlyMap<string, string>): readonly Mount[]
  /**
   * Mounted for real: then the container finds them where it says. Otherwise their paths are replaced in what it is
   * told.
   */
  readonly isolated: boolean
  /** Files the container knows by another name in any case. */
  readonly replaced?: readonly Mount[]
  /** What it is to call its cards, where that is not by their numbers on the machine. */
  readonly ownCards?: Pick<CardDevices, 'visible' | 'ids'> | undefined
  /** Where the user lives that runs it: also its working directory, where nothing else is said. */
  readonly home: string
  readonly hostIP: string
  readonly hostIP6?: string | undefined
  /** What every process of this node gets from the machine (PATH and the like), and the marks it is recognised by. */
  readonly machineEnv: Readonly<Record<string, string>>
  readonly marks: Readonly<Record<string, string>>
}

/**
 * Turns a container into a command line: the image's command is its ENTRYPOINT, which `command` replaces and `args`
 * follow.
 */
export function planLaunch(launch: ContainerLaunch, surroundings: LaunchSurroundings): LaunchPlan {
  const { pod, container, podIP, podIP6, cards } = launch
  const { image, home, hostIP, hostIP6, marks, isolated } = surroundings
  if (image.found === 'root' && !isolated) {
    throw new ContainerRefused(
      'CreateContainerError',
      'images with files of their own need namespaces, which this node does not have',
    )
  }

  // As container runtimes have it; what the container says itself counts more.
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
  // After everything else: whatever a manifest says, a card is never used twice and a process never hides whose it is.
  env.set('CUDA_VISIBLE_DEVICES', surroundings.ownCards?.visible ?? cards.join(','))
  if (surroundings.ownCards?.ids) env.set('NVIDIA_VISIBLE_DEVICES', surroundings.ownCards.ids)
  // The indices are those of the driver's list, which goes by place on the bus; CUDA's own order would be by speed.
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

/** The image's own come first: it may bring newer ones. */
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
