import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../foundation/clock.ts'
import type { Pod } from '../../resources/pod.ts'
import { everyContainer, podVolumes } from '../pods/pod-parts.ts'
import { type RunProgram, programRunner } from '../processes/run-program.ts'
import type { StorageUse } from './storage-limits.ts'

/** Where a Pod's files are on this machine. */
export interface StoragePlaces {
  /** The Pod's own folder: `volumes/<name>`, `containers/<name>`, and what is nobody's in particular. */
  readonly scratch: string
  /** The logs, one folder for each container. */
  readonly logs: string
  /** Folders with memory volumes. */
  readonly memory: readonly string[]
}

interface Place {
  readonly path: string
  readonly onDisk: boolean
  readonly volume?: string
  readonly container?: string
}

/** Enough for a Pod with very many files. */
const deadlineMs = 60_000

/** Measures with the machine's `du`; `undefined` if that fails. */
export function storageUse(pod: Pod, places: StoragePlaces, clock: Clock, signal: AbortSignal) {
  return measureStorage(pod, places, programRunner(clock, deadlineMs), signal)
}

/**
 * Measures what a Pod has on disk. `du` does the counting, so that a Pod with a million files costs another process's
 * time. `undefined` if it cannot be measured.
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

/**
 * The places to measure, without overlap, so that everything counts once. Only the node's own names are passed to `du`.
 */
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
  // Only POSIX options. Other mounts in between are not counted.
  const result = await run('du', ['-s', '-k', '-x', '--', ...paths], signal)
  if (!result.ran) return undefined
  const known = new Set(paths)
  const sizes = new Map<string, number>()
  for (const line of result.output.split('\n')) {
    const [, size = '', path = ''] = /^(\d+)\t(.*)$/.exec(line) ?? []
    // Error messages are mixed in and may contain names that a Pod chose; they can only increase a size.
    if (known.has(path)) sizes.set(path, Math.max(sizes.get(path) ?? 0, Number(size) * 1024))
  }
  return sizes
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}
