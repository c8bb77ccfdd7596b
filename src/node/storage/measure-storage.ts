import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../foundation/clock.ts'
import type { Pod } from '../../resources/pod.ts'
import { everyContainer, podVolumes } from '../pods/pod-parts.ts'
import { type RunProgram, programRunner } from '../processes/run-program.ts'
import type { StorageUse } from './storage-limits.ts'

/** Where a Pod's files lie on this machine. */
export interface StoragePlaces {
  /** The Pod's own folder: `volumes/<name>`, `containers/<name>`, and what is nobody's in particular. */
  readonly scratch: string
  /** One folder for each container. */
  readonly logs: string
  /** Folders of volumes that are in memory, on the disk or not. */
  readonly memory: readonly string[]
}

interface Place {
  readonly path: string
  readonly onDisk: boolean
  readonly volume?: string
  readonly container?: string
}

/** For a Pod with a great many files. */
const deadlineMs = 60_000

/** What a Pod uses now, by the machine's own `du`; `undefined` where it cannot be told. */
export function storageUse(pod: Pod, places: StoragePlaces, clock: Clock, signal: AbortSignal) {
  return measureStorage(pod, places, programRunner(clock, deadlineMs), signal)
}

/**
 * Counts what a Pod has on the disk, as `du` does, and by that program: a Pod with a million files then takes the time
 * of another process. `undefined` where it cannot be told.
 */
export async function measureStorage(
  pod: Pod,
  places: StoragePlaces,
  run: RunProgram,
  signal: AbortSignal,
): Promise<StorageUse | undefined> {
  const found = await placesOf(pod, places)
  const bytes = await sizesOf(
    found.map(({ path }) => path),
    run,
    signal,
  )
  if (!bytes) return undefined
  const volumes = new Map<string, number>()
  const containers = new Map<string, number>()
  const add = (map: Map<string, number>, name: string, size: number) => map.set(name, (map.get(name) ?? 0) + size)
  let total = 0
  for (const { path, onDisk, volume, container } of found) {
    const size = bytes.get(path) ?? 0
    if (volume !== undefined) add(volumes, volume, size)
    if (container !== undefined) add(containers, container, size)
    if (onDisk) total += size
  }
  return { volumes, containers, pod: total }
}

/** Parts that do not overlap, so that everything counts once. Their names are the node's, not the Pod's. */
async function placesOf(pod: Pod, { scratch, logs, memory }: StoragePlaces): Promise<Place[]> {
  const containers = everyContainer(pod).map(({ name }) => name)
  const emptyDirs = podVolumes(pod).flatMap(({ name, emptyDir }) => (emptyDir ? [name] : []))
  const places: Place[] = []
  for (const name of await namesIn(scratch)) {
    const path = join(scratch, name)
    if (name !== 'volumes' && name !== 'containers' && !memory.includes(path)) places.push({ path, onDisk: true })
  }
  for (const name of await namesIn(join(scratch, 'volumes'))) {
    const volume = emptyDirs.includes(name) ? { volume: name } : {}
    places.push({ path: join(scratch, 'volumes', name), onDisk: true, ...volume })
  }
  for (const name of containers) {
    places.push({ path: join(scratch, 'containers', name), onDisk: true, container: name })
    places.push({ path: join(logs, name), onDisk: true, container: name })
  }
  for (const folder of memory) {
    for (const name of emptyDirs) places.push({ path: join(folder, name), onDisk: false, volume: name })
  }
  return places
}

async function sizesOf(
  paths: readonly string[],
  run: RunProgram,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number> | undefined> {
  // POSIX's options; what is mounted in between is somebody else's.
  const result = await run('du', ['-s', '-k', '-x', '--', ...paths], signal)
  if (!result.ran) return undefined
  const known = new Set(paths)
  const sizes = new Map<string, number>()
  for (const line of result.output.split('\n')) {
    const [, size = '', path = ''] = /^(\d+)\t(.*)$/.exec(line) ?? []
    // Complaints come between the sizes and may repeat names that a Pod made up: these can only make it larger.
    if (known.has(path)) sizes.set(path, Math.max(sizes.get(path) ?? 0, Number(size) * 1024))
  }
  return sizes
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}
