import { accessSync, constants, existsSync, lstatSync, mkdirSync, statfsSync } from 'node:fs'
import { rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { podLogFolderName, podLogsFolder, uidOfLogFolder } from '../logs/log-files.ts'
import type { PodIdentity } from '../pod-runtime.ts'
import type { StoragePlaces } from '../storage/measure-storage.ts'
import { claimFolder } from '../volumes/claim-folder.ts'
import { MemoryMounts, isMountPoint, mountsSpreadFrom } from '../volumes/memory-mounts.ts'
import { removeFolder } from '../volumes/remove-folder.ts'
import { namesInFolder } from '../names-in-folder.ts'

const tmpfsType = 0x01021994
const sharedMemory = '/dev/shm'
/** The subfolder of a Pod's folder where its memory volumes are mounted; not on disk. */
export const memoryFolder = 'memory'

/** The folders on this machine's disk in which Pods keep their files. */
export class PodFolders {
  readonly node: string
  readonly logs: string
  readonly claims: string
  readonly #scratch: string
  readonly #inMemory: string | undefined
  readonly #mounts: MemoryMounts

  constructor(dataDir: string, nodeId: (folder: string) => string, mounts = new MemoryMounts()) {
    this.#mounts = mounts
    this.node = join(dataDir, 'node')
    this.logs = podLogsFolder(dataDir)
    this.claims = join(dataDir, 'volumes')
    this.#scratch = join(this.node, 'scratch')
    // Closed to other users: root in a container could leave setuid files there.
    for (const folder of [this.node, this.logs, this.claims, this.#scratch]) {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
    }
    const id = nodeId(this.node)
    // With the whole id, so that nobody can guess the name and put something there first.
    this.#inMemory = isMemory(sharedMemory) ? join(sharedMemory, `sluice-${id}`) : undefined
  }

  claim(namespace: string, name: string): string {
    return claimFolder(this.claims, namespace, name)
  }

  /** A folder that all containers of one image in a namespace share, and that outlives their Pods. */
  kept(namespace: string, repository: string): string {
    return made(join(this.node, 'kept', namespace, encodeURIComponent(repository)))
  }

  home(uid: string): string {
    return made(join(this.#scratch, uid, 'home'))
  }

  /**
   * The folder of a volume. A memory volume is its own mount if possible; otherwise it is a folder in the machine's
   * shared memory.
   */
  volume(uid: string, volume: string, inMemory = false): string {
    const mounted = join(this.#mounted(uid), volume)
    if (inMemory && isMountPoint(mounted)) return mounted
    if (inMemory && this.#inMemory !== undefined) return join(privateFolder(this.#inMemory), uid, volume)
    return join(this.#scratch, uid, 'volumes', volume)
  }

  /**
   * Mounts memory of this size for a volume, if the machine permits it and it is not mounted yet. Returns whether
   * existing namespaces cannot see the new mount.
   */
  async mountMemory(uid: string, volume: string, bytes: number, signal: AbortSignal): Promise<boolean> {
    // The volume already exists as a folder in shared memory: its files stay there.
    if (this.#inMemory !== undefined && existsSync(join(this.#inMemory, uid, volume))) return false
    const mounted = await this.#mounts.mount(join(this.#mounted(uid), volume), bytes, signal)
    return mounted === 'new' && !mountsSpreadFrom(this.#scratch)
  }

  /** The folder in which the node keeps its own files about a container. */
  container(uid: string, container: string): string {
    return made(join(this.#scratch, uid, 'containers', container))
  }

  /** The folders that count as the Pod's use of storage. */
  storage(pod: PodIdentity): StoragePlaces {
    const scratch = join(this.#scratch, pod.uid)
    const shared = this.#inMemory === undefined ? [] : [join(this.#inMemory, pod.uid)]
    return { scratch, logs: join(this.logs, podLogFolderName(pod)), memory: [this.#mounted(pod.uid), ...shared] }
  }

  /** Returns whether existing namespaces still hold some of the removed mounts. */
  async removeVolumes(uid: string): Promise<boolean> {
    const stays = await this.#unmount(uid)
    await removeFolder(join(this.#scratch, uid, 'volumes'))
    await this.#removeFromMemory(uid)
    return stays
  }

  /**
   * Unmounts the memory volumes of Pods that do not run when the program ends, since nobody would know of them until
   * the next start.
   */
  unmountStopped(runs: (uid: string) => boolean): void {
    const stopped = namesInFolder(this.#scratch).filter((uid) => !runs(uid))
    this.#mounts.unmountNow(stopped.map((uid) => this.#mounted(uid)))
  }

  async remove(pod: PodIdentity): Promise<boolean> {
    await rm(join(this.logs, podLogFolderName(pod)), { recursive: true, force: true })
    return this.#removeScratch(pod.uid)
  }

  /** Removes the files of unknown Pods. */
  async removeUnknown(isKnown: (uid: string) => boolean): Promise<void> {
    for (const name of namesInFolder(this.logs)) {
      if (!isKnown(uidOfLogFolder(name))) await rm(join(this.logs, name), { recursive: true, force: true })
    }
    const inMemory = this.#inMemory === undefined ? [] : namesInFolder(this.#inMemory)
    for (const uid of new Set([...namesInFolder(this.#scratch), ...inMemory])) {
      if (!isKnown(uid)) await this.#removeScratch(uid)
    }
  }

  async #removeScratch(uid: string): Promise<boolean> {
    const stays = await this.#unmount(uid)
    await removeFolder(join(this.#scratch, uid))
    await this.#removeFromMemory(uid)
    return stays
  }

  #mounted(uid: string): string {
    return join(this.#scratch, uid, memoryFolder)
  }

  async #unmount(uid: string): Promise<boolean> {
    const wasThere = await this.#mounts.unmountIn(this.#mounted(uid))
    return wasThere && !mountsSpreadFrom(this.#scratch)
  }

  async #removeFromMemory(uid: string): Promise<void> {
    if (this.#inMemory === undefined) return
    await removeFolder(join(this.#inMemory, uid))
    // Removes the shared folder with its last Pod; fails if there are others.
    await rmdir(this.#inMemory).catch(() => {})
  }
}

function isMemory(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return statfsSync(path).type === tmpfsType
  } catch {
    return false
  }
}

/** Makes a folder, in a place that is open to everybody, that only this user can enter. */
function privateFolder(folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { uid, mode } = lstatSync(folder)
  const isOurs = uid === process.getuid?.() && (mode & (constants.S_IFMT | 0o077)) === constants.S_IFDIR
  if (!isOurs) throw new Error(`${folder} is not a folder that only this user can enter`)
  return folder
}

function made(folder: string): string {
  mkdirSync(folder, { recursive: true })
  return folder
}
