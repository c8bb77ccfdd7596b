import type { ContainerLaunch } from './pod-runtime.ts'
import { ContainerRefused } from './pod-runtime.ts'
import { containerVariables } from './container-environment.ts'
import type { ImageLookup } from './image-store.ts'
import { type Mount, replaceMountPaths } from './volume-mounts.ts'
import { expandVariables } from './variable-expansion.ts'

/** Exactly what is handed to the operating system. */
export interface LaunchPlan {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly workingDir: string
}

export interface LaunchSurroundings {
  readonly image: ImageLookup
  readonly mounts: readonly Mount[]
  /** The Pod's own folder: home and working directory where nothing else is said. */
  readonly podFolder: string
  readonly hostIP: string
  /** What every process of this node gets from the machine (PATH and the like), and the marks it is recognised by. */
  readonly machineEnv: Readonly<Record<string, string>>
  readonly marks: Readonly<Record<string, string>>
}

/** Turns a container into a command line: the image's command is its ENTRYPOINT, which `command` replaces and `args` follow. */
export function planLaunch(launch: ContainerLaunch, surroundings: LaunchSurroundings): LaunchPlan {
  const { pod, container, podIP, cards } = launch
  const { image, mounts, podFolder, hostIP, machineEnv, marks } = surroundings
  if (image.found === 'nothing') throw new ContainerRefused('ErrImagePull', image.message)

  const given = { ...machineEnv, HOME: podFolder, HOSTNAME: pod.metadata.name, POD_IP: podIP, ...image.env }
  const variables = containerVariables(pod, container, { podIP, hostIP }, new Map(Object.entries(given)))
  const inside = (text: string) => replaceMountPaths(expandVariables(text, variables), mounts)

  const [program, ...args] = [
    ...(container.command?.map(inside) ?? image.command),
    ...(container.args ?? []).map(inside),
  ]
  if (program === undefined || program === '') {
    throw new ContainerRefused('CreateContainerError', `container "${container.name}" has no command`)
  }
  const env = new Map([...variables].map(([name, value]) => [name, replaceMountPaths(value, mounts)]))
  // After everything else: whatever a manifest says, a card is never used twice and a process never hides whose it is.
  env.set('CUDA_VISIBLE_DEVICES', cards.join(','))
  for (const [name, value] of Object.entries(marks)) env.set(name, value)
  return { program, args, env: Object.fromEntries(env), workingDir: workingDirOf(launch, mounts, podFolder) }
}

function workingDirOf({ container }: ContainerLaunch, mounts: readonly Mount[], podFolder: string): string {
  const { workingDir } = container
  if (workingDir === undefined || workingDir === '') return podFolder
  const real = replaceMountPaths(workingDir, mounts)
  if (real !== workingDir) return real
  const message = `workingDir "${workingDir}" is not inside a volume of the container; other places are not supported on this node`
  throw new ContainerRefused('CreateContainerConfigError', message)
}
