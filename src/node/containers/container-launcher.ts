import { mkdirSync } from 'node:fs'
import { type Clock, abortReason } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { ImageStore } from '../images/image-store.ts'
import { removeGroups } from '../isolation/cgroups.ts'
import type { ContainerShell } from '../isolation/container-shell.ts'
import type { Isolation } from '../isolation/detect-isolation.ts'
import { containerLogFolder, rawPath, removeOldLogs } from '../logs/log-files.ts'
import { type ContainerLaunch, ContainerRefused, type RunningContainer, podIdentity } from '../pod-runtime.ts'
import type { PodFolders } from '../pods/pod-folders.ts'
import { containerParts } from '../pods/pod-parts.ts'
import { type ContainerRecord, type PodRecords, recordOf } from '../pods/pod-records.ts'
import { readBootId } from '../processes/process-identity.ts'
import { mountMemoryVolumes } from '../volumes/pod-memory.ts'
import { type ContainerInput, closeAll, makeInput } from './container-input.ts'
import type { ContainerPreparer, PreparedContainer } from './container-preparer.ts'
import { ContainerProcess, type ProcessOptionsFor } from './container-process.ts'
import type { ContainerShells, StartingShell } from './container-shells.ts'
import type { OwnedContainers } from './owned-containers.ts'

export interface ContainerLauncherOptions {
  readonly clock: Clock
  readonly folders: PodFolders
  readonly records: Pick<PodRecords, 'start' | 'drop'>
  readonly images: Pick<ImageStore, 'roots'>
  readonly shells: ContainerShells
  readonly owned: OwnedContainers
  readonly processOptions: ProcessOptionsFor
  preparer(isolation: Isolation): ContainerPreparer
}

type Prepared = PreparedContainer & { readonly input: ContainerInput }

/**
 * Starts a container: a shell is taken, what it is to do is prepared, its process is recorded, and only then does its
 * program run. At whichever of these steps it fails, nothing is left of it.
 */
export class ContainerLauncher {
  readonly #options: ContainerLauncherOptions

  constructor(options: ContainerLauncherOptions) {
    this.#options = options
  }

  async launch(launch: ContainerLaunch, isolation: Isolation, signal: AbortSignal): Promise<RunningContainer> {
    const { shells, owned, folders } = this.#options
    const { uid } = podIdentity(launch.pod)
    if (await mountMemoryVolumes(folders, launch, signal)) shells.mountsChanged()
    if (signal.aborted) throw abortReason(signal)
    const target = launch.target === undefined ? undefined : owned.get(uid, launch.target)?.record
    const starting = shells.shellFor(launch, isolation, target)
    const prepared = await this.#prepare(launch, isolation, starting.shell, signal)
    return this.#run(launch, isolation, starting, prepared)
  }

  async #prepare(
    launch: ContainerLaunch,
    isolation: Isolation,
    shell: ContainerShell,
    signal: AbortSignal,
  ): Promise<Prepared> {
    const { folders } = this.#options
    const { container, attempt } = launch
    const pod = podIdentity(launch.pod)
    const logs = containerLogFolder(folders.logs, pod, container.name)
    let input: ContainerInput | undefined
    try {
      const own = folders.container(pod.uid, container.name)
      input = await makeInput(own, containerParts(container), isolation.mode === 'namespaces')
      const preparer = this.#options.preparer(isolation)
      const prepared = await preparer.prepare(launch, rawPath(logs, attempt), input, shell.groups, signal)
      mkdirSync(logs, { recursive: true })
      removeOldLogs(logs, attempt)
      return { ...prepared, input }
    } catch (error) {
      shell.discard()
      if (input) closeAll([...input.opened, input.held])
      if (error instanceof ContainerRefused || signal.aborted) throw error
      throw new ContainerRefused('CreateContainerError', errorMessage(error), { cause: error })
    }
  }

  async #run(
    launch: ContainerLaunch,
    isolation: Isolation,
    { shell, sharesProcesses, warning }: StartingShell,
    { script, record: prepared, input }: Prepared,
  ): Promise<RunningContainer> {
    const { clock, owned, records, images, processOptions } = this.#options
    const { podIP, attempt } = launch
    const pod = podIdentity(launch.pod)
    const container = launch.container.name
    const record = { ...prepared, sharesProcesses, startedAt: clock.now() }
    let process: ContainerProcess | undefined
    try {
      process = await ContainerProcess.enter(
        shell,
        script,
        isolation.mode === 'namespaces',
        (identity) => this.#note(launch, { ...identity, ...record }),
        { ...processOptions(pod.uid, container, attempt), sharesProcesses },
      )
      const known = { ...process.identity, ...record }
      return { ...owned.add({ pod, container, podIP, record: known, process, heldInput: input.held }), warning }
    } catch (error) {
      await process?.stop(0)
      removeGroups(record.cgroups)
      images.roots?.letGo({ id: record.imageId }, { podUid: pod.uid, container })
      closeAll([input.held])
      await records.drop(pod.uid, container).catch(() => {})
      throw error
    } finally {
      closeAll(input.opened)
    }
  }

  /** Written before the program runs: the next run of this one must find it, and learn how it ended. */
  async #note({ pod, podIP, container: { name } }: ContainerLaunch, record: ContainerRecord): Promise<void> {
    const about = recordOf(podIdentity(pod), podIP, readBootId())
    await this.#options.records.start(about, name, record).catch((error: unknown) => {
      const message = `cannot record the process of "${name}": ${errorMessage(error)}`
      throw new ContainerRefused('CreateContainerError', message, { cause: error })
    })
  }
}
