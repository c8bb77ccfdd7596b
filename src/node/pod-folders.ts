import { accessSync, constants, lstatSync, mkdirSync, statfsSync } from 'node:fs'
import { rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { podLogFolderName, podLogsFolder, uidOfLogFolder } from './log-files.ts'
import type { PodIdentity } from './pod-runtime.ts'
import type { StoragePlaces } from './storage/measure-storage.ts'
import { claimFolder } from './volumes/claim-folder.ts'
import { removeFolder } from './volumes/remove-folder.ts'
import { namesInFolder } from './names-in-folder.ts'

const tmpfsType = 0x01021994
const sharedMemory = '/dev/shm'

/** Where Pods keep what on this machine's disk. */
export class PodFolders {
  readonly node: string
  readonly logs: string
  readonly claims: string
  readonly #scratch: string
  readonly #inMemory: string | undefined

  constructor(dataDir: string, nodeId: (folder: string) => string) {
    this.node = join(dataDir, 'node')
    this.logs = podLogsFolder(dataDir)
    this.claims = join(dataDir, 'volumes')
    this.#scratch = join(this.node, 'scratch')
    // Root in a container can leave files there that give their rights to whoever runs them: nobody else of the machine may come by.
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

  volume(uid: string, volume: string, inMemory = false): string {
    if (inMemory && this.#inMemory !== undefined) return join(privateFolder(this.#inMemory), uid, volume)
    return join(this.#scratch, uid, 'volumes', volume)
  }

  /** What the node itself keeps for one container. */
  container(uid: string, container: string): string {
    return made(join(this.#scratch, uid, 'containers', container))
  }

  /** Where that lies which counts as the Pod's use of storage. */
  storage(pod: PodIdentity): StoragePlaces {
    const scratch = join(this.#scratch, pod.uid)
    const memory = this.#inMemory === undefined ? undefined : join(this.#inMemory, pod.uid)
    return { scratch, logs: join(this.logs, podLogFolderName(pod)), memory }
  }

  async removeVolumes(uid: string): Promise<void> {
    await removeFolder(join(this.#scratch, uid, 'volumes'))
    await this.#removeFromMemory(uid)
  }

  async remove(pod: PodIdentity): Promise<void> {
    await rm(join(this.logs, podLogFolderName(pod)), { recursive: true, force: true })
    await this.#removeScratch(pod.uid)
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

  async #removeScratch(uid: string): Promise<void> {
    await removeFolder(join(this.#scratch, uid))
    await this.#removeFromMemory(uid)
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
