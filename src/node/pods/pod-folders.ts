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
/** In a Pod's own folder: what is mounted there is not on the disk. */
export const memoryFolder = 'memory'

/** Where Pods keep what on this machine's disk. */
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
    // Root in a container can leave files there that give their rights to whoever runs them: nobody else of the machine
    // may come by.
    for (const folder of [this.node, this.logs, this.claims, this.#scratch]) {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
    }
    const id = nodeId(this.node)
    // All of the id: what nobody can guess, nobody can have put there before.
    this.#inMemory = isMemory(sharedMemory) ? join(sharedMemory, `sluice-${id}`) : undefined
  }

  claim(namespace: string, name: string): string {
    return claimFolder(this.claims, namespace, name)
  }

  /** For what programs of one kind keep in a namespace, whichever Pods come and go. */
  kept(namespace: string, repository: string): string {
    return made(join(this.node, 'kept', namespace, encodeURIComponent(repository)))
  }

  home(uid: string): string {
    return made(join(this.#scratch, uid, 'home'))
  }

  /** One in memory is a mount of its own where that could be had; elsewhere it is a folder of what all share. */
  volume(uid: string, volume: string, inMemory = false): string {
    const mounted = join(this.#mounted(uid), volume)
    if (inMemory && isMountPoint(mounted)) return mounted
    if (inMemory && this.#inMemory !== undefined) return join(privateFolder(this.#inMemory), uid, volume)
    return join(this.#scratch, uid, 'volumes', volume)
  }

  /**
   * Mounts memory of this size for a volume, where the machine permits it and the volume is not there already. Answers
   * whether namespaces that were made before do not see it.
   */
  async mountMemory(uid: string, volume: string, bytes: number, signal: AbortSignal): Promise<boolean> {
    // Of a Pod that was there before this was done: what it has written stays where it is.
    if (this.#inMemory !== undefined && existsSync(join(this.#inMemory, uid, volume))) return false
    const mounted = await this.#mounts.mount(join(this.#mounted(uid), volume), bytes, signal)
    return mounted === 'new' && !mountsSpreadFrom(this.#scratch)
  }

  /** What the node itself keeps for one container. */
  container(uid: string, container: string): string {
    return made(join(this.#scratch, uid, 'containers', container))
  }

  /** Where that lies which counts as the Pod's use of storage. */
  storage(pod: PodIdentity): StoragePlaces {
    const scratch = join(this.#scratch, pod.uid)
    const shared = this.#inMemory === undefined ? [] : [join(this.#inMemory, pod.uid)]
    return { scratch, logs: join(this.logs, podLogFolderName(pod)), memory: [this.#mounted(pod.uid), ...shared] }
  }

  /** Answers whether namespaces that were made before still have some of it. */
  async removeVolumes(uid: string): Promise<boolean> {
    const stays = await this.#unmount(uid)
    await removeFolder(join(this.#scratch, uid, 'volumes'))
    await this.#removeFromMemory(uid)
    return stays
  }

  /** What is in memory of Pods that do not run goes with the program: nobody would know of it until the next start. */
  unmountStopped(runs: (uid: string) => boolean): void {
    const stopped = namesInFolder(this.#scratch).filter((uid) => !runs(uid))
    this.#mounts.unmountNow(stopped.map((uid) => this.#mounted(uid)))
  }

  async remove(pod: PodIdentity): Promise<boolean> {
    await rm(join(this.logs, podLogFolderName(pod)), { recursive: true, force: true })
    return this.#removeScratch(pod.uid)
  }

  /** Removes what belongs to Pods that are not known. */
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
    // With the last one goes the folder that all of them share.
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

/** In a place that is open to everybody, a folder that only we can enter. */
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
