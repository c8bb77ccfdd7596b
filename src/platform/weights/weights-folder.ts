import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  statfsSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { type FileLock, tryLock, tryShare } from '../../node/images/file-lock.ts'
import { isWhole } from './copy-weights.ts'
import type { WeightsManifest } from './weights-manifest.ts'
import type { WeightsSteps } from './weights-steps.ts'

interface Held {
  readonly key: string
  readonly bytes: number
  readonly usedAt: number
}

const description = z.looseObject({ bytes: z.number().min(0) })
const keyPattern = /^[0-9a-f]{32}$/

/**
 * The folder in which the Pods of a node keep Models' files.
 *
 * - `entries/<key>/files/`: complete, never written to again; `entry.json` says how large they are, and its time when
 *   they were used last
 * - `incoming/<key>/`: what is being copied, by whoever holds its lock alone
 * - `locks/<key>`: shared by those who use an entry, held alone by who copies or removes it
 * - `trash/`: what is being removed
 *
 * The operating system releases locks when a process ends, however it ends.
 */
export class WeightsFolder {
  readonly #root: string
  readonly #size: number
  readonly #steps: WeightsSteps

  constructor(root: string, size: number, steps: WeightsSteps = {}) {
    this.#root = root
    this.#size = size
    this.#steps = steps
    for (const name of ['entries', 'incoming', 'locks', 'trash']) mkdirSync(join(root, name), { recursive: true })
  }

  filesOf(key: string): string {
    return join(this.#root, 'entries', key, 'files')
  }

  incomingOf(key: string): string {
    return join(this.#root, 'incoming', key, 'files')
  }

  tryShare(key: string): FileLock | undefined {
    return this.#tryWith(key, tryShare)
  }

  tryAlone(key: string): FileLock | undefined {
    return this.#tryWith(key, tryLock)
  }

  /** Whether all files are there, as they were copied. */
  async isComplete({ key, files }: WeightsManifest): Promise<boolean> {
    if (bytesOf(join(this.#root, 'entries', key)) === undefined) return false
    for (const file of files) if (!(await isWhole(join(this.filesOf(key), file.name), file))) return false
    return true
  }

  markUsed(key: string): void {
    const now = new Date()
    utimesSync(join(this.#root, 'entries', key, 'entry.json'), now, now)
  }

  /**
   * Makes room, by removing what nobody uses and what was used least lately, and keeps it for these files. Whoever
   * calls holds the lock of the key alone. `undefined` while somebody else makes room.
   */
  tryReserve({ key, bytes }: WeightsManifest): boolean | undefined {
    const lock = tryLock(join(this.#root, 'lock'))
    if (!lock) return undefined
    try {
      this.#discard(join(this.#root, 'entries', key))
      const incoming = this.#incomingBytes(key)
      const held = this.#held()
      let used = incoming + held.reduce((sum, entry) => sum + entry.bytes, 0)
      const fits = () => used + bytes <= this.#size && this.#freeBytes() + this.copiedBytes(key) >= bytes
      for (const entry of held) {
        if (fits()) break
        if (this.#evict(entry.key)) used -= entry.bytes
      }
      if (!fits()) return false
      mkdirSync(this.incomingOf(key), { recursive: true })
      this.#describe(join(this.#root, 'incoming', key), bytes)
      return true
    } finally {
      lock.release()
    }
  }

  /** Makes what was copied an entry, whole or not at all. */
  publish({ key }: WeightsManifest): void {
    const { step } = this.#steps
    syncFolders(join(this.#root, 'incoming', key))
    step?.('described')
    renameSync(join(this.#root, 'incoming', key), join(this.#root, 'entries', key))
    step?.('renamed')
    sync(join(this.#root, 'entries'))
  }

  /** Removes a copy that will not be finished. Whoever calls holds the lock of the key alone. */
  abandon({ key }: WeightsManifest): void {
    this.#discard(join(this.#root, 'incoming', key))
  }

  /** How much of what somebody copies is there. */
  copiedBytes(key: string): number {
    const folder = this.incomingOf(key)
    if (!statSync(folder, { throwIfNoEntry: false })) return 0
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    const sizes = names.map((name) => statSync(join(folder, name), { throwIfNoEntry: false }))
    return sizes.reduce((sum, found) => sum + (found?.isFile() ? found.size : 0), 0)
  }

  #held(): readonly Held[] {
    const keys = readdirSync(join(this.#root, 'entries')).filter((name) => keyPattern.test(name))
    return keys
      .flatMap((key) => {
        const folder = join(this.#root, 'entries', key)
        const bytes = bytesOf(folder)
        const described = statSync(join(folder, 'entry.json'), { throwIfNoEntry: false })
        return bytes === undefined || !described ? [] : [{ key, bytes, usedAt: described.mtimeMs }]
      })
      .toSorted((one, other) => one.usedAt - other.usedAt)
  }

  /** What others are copying. What nobody copies any more is removed. */
  #incomingBytes(own: string): number {
    let sum = 0
    for (const key of readdirSync(join(this.#root, 'incoming'))) {
      if (key === own) continue
      const folder = join(this.#root, 'incoming', key)
      const lock = keyPattern.test(key) ? this.tryAlone(key) : undefined
      if (lock || !keyPattern.test(key)) this.#discard(folder)
      else sum += bytesOf(folder) ?? 0
      lock?.release()
    }
    return sum
  }

  #evict(key: string): boolean {
    const lock = this.tryAlone(key)
    if (!lock) return false
    try {
      this.#steps.step?.('evicting')
      this.#discard(join(this.#root, 'entries', key))
      this.#steps.step?.('evicted')
      rmSync(join(this.#root, 'locks', key), { force: true })
      return true
    } finally {
      lock.release()
    }
  }

  /** Away at once, so that nobody finds half of it; then its files. */
  #discard(folder: string): void {
    const trash = join(this.#root, 'trash')
    if (statSync(folder, { throwIfNoEntry: false })) {
      renameSync(folder, join(trash, randomBytes(8).toString('hex')))
      this.#steps.step?.('in the trash')
    }
    for (const name of readdirSync(trash)) {
      try {
        rmSync(join(trash, name), { recursive: true, force: true, maxRetries: 3 })
      } catch {
        // Another Pod removes it, too; or the next one does.
      }
    }
  }

  #describe(folder: string, bytes: number): void {
    writeFileSync(join(folder, 'entry.json'), `${JSON.stringify({ bytes })}\n`)
  }

  #freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#root)
    return bavail * bsize
  }

  /** A lock whose file was removed meanwhile is nobody's lock: the next one makes another file. */
  #tryWith(key: string, take: (path: string) => FileLock | undefined): FileLock | undefined {
    const path = join(this.#root, 'locks', key)
    for (;;) {
      closeSync(openSync(path, 'a', 0o600))
      const before = statSync(path, { throwIfNoEntry: false })?.ino
      const lock = take(path)
      if (!lock || statSync(path, { throwIfNoEntry: false })?.ino === before) return lock
      lock.release()
    }
  }
}

function bytesOf(folder: string): number | undefined {
  try {
    return description.parse(JSON.parse(readFileSync(join(folder, 'entry.json'), 'utf8'))).bytes
  } catch {
    return undefined
  }
}

function syncFolders(folder: string): void {
  for (const { name, parentPath } of readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )) {
    sync(join(parentPath, name))
  }
  sync(join(folder, 'entry.json'))
  sync(folder)
}

function sync(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
