import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { ImageStore } from '../images/image-store.ts'
import type { Cgroups } from '../isolation/cgroups.ts'
import type { RunningContainer } from '../pod-runtime.ts'
import type { ContainerRecord, PodRecord, PodRecords } from '../pods/pod-records.ts'
import { isAlive, readBootId, signalGroup } from '../processes/process-identity.ts'
import { endUnowned } from '../processes/process-marks.ts'
import { ContainerProcess, type ProcessOptionsFor } from './container-process.ts'
import { readExitFile } from './exit-file.ts'
import type { OwnedContainers } from './owned-containers.ts'

export interface FormerRunOptions {
  readonly records: Pick<PodRecords, 'load' | 'drop'>
  readonly owned: OwnedContainers
  readonly processOptions: ProcessOptionsFor
  readonly images: Pick<ImageStore, 'roots'>
  readonly cgroups: Cgroups
  readonly nodeId: string
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Takes over what a former run of this program left on the machine, whether that was stopped or killed. Containers
 * that still run are owned from now on and returned; those that ended meanwhile have their end recorded. What belongs
 * to neither (processes, cgroups, holds on images) goes.
 */
export async function adoptFormerRun(options: FormerRunOptions): Promise<readonly RunningContainer[]> {
  const { owned, images, cgroups, nodeId, clock, log } = options
  const adopted = await adoptContainers(options)
  images.roots?.keepOnly(adopted)
  const leaders = new Set(adopted.map(({ pid }) => pid))
  endUnowned(nodeId, leaders, (uid) => owned.hasPod(uid), log)
  await cgroups.removeLeft(new Set(owned.all.flatMap(({ record }) => record.cgroups)), clock)
  return adopted
}

async function adoptContainers(options: FormerRunOptions): Promise<readonly RunningContainer[]> {
  const bootId = readBootId()
  const adopted: RunningContainer[] = []
  const ended: Promise<unknown>[] = []
  for (const pod of await options.records.load()) {
    const thisBoot = pod.bootId === bootId
    for (const [name, record] of Object.entries(pod.containers)) {
      if (record.exit) continue
      const runs = thisBoot && isAlive(record)
      const container = await adoptContainer(pod, name, record, thisBoot, options)
      if (!container) continue
      if (runs) adopted.push(container)
      else ended.push(container.exited)
    }
  }
  await Promise.all(ended)
  return adopted
}

/** `undefined` for one whose program never ran. */
async function adoptContainer(
  pod: PodRecord,
  name: string,
  record: ContainerRecord,
  thisBoot: boolean,
  { records, owned, processOptions }: FormerRunOptions,
): Promise<RunningContainer | undefined> {
  if (thisBoot && (await readExitFile(record.exitFile)).state === 'unstarted') {
    // Its shell still waits for the word to run the program, which nobody will give: as if it had not been tried.
    signalGroup(record, 'SIGKILL')
    await records.drop(pod.uid, name)
    return undefined
  }
  const { attempt, sharesProcesses } = record
  const process = ContainerProcess.adopt(
    { ...record, thisBoot },
    { ...processOptions(pod.uid, name, attempt), sharesProcesses },
  )
  return owned.add({ pod, container: name, podIP: pod.podIP, record, process })
}
