import { Worker } from 'node:worker_threads'
import { abortReason, type Clock } from '../../foundation/clock.ts'
import { type VolumeOwner, givingToGroup, isLeftAlone } from './volume-ownership.ts'

const program = new URL(`volume-ownership-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)
/** How many files are handled on the event loop, with turns for others; more are left to a thread. */
const mostHere = 512
const stepsPerTurn = 32
/** Enough for some ten million files. */
const deadlineMs = 10 * 60_000

/** Gives volumes to the groups of Pods (fsGroup), each once when the Pod first uses it. */
export class VolumeGroups {
  readonly #clock: Clock
  /** The volumes already done, by Pod. */
  readonly #given = new Map<string, Set<string>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async give(podUid: string, folders: Iterable<string>, owner: VolumeOwner, signal: AbortSignal): Promise<void> {
    const given = this.#given.get(podUid) ?? new Set()
    this.#given.set(podUid, given)
    for (const folder of folders) {
      if (given.has(folder)) continue
      if (!isLeftAlone(folder, owner) && !(await givenHere(folder, owner, signal))) {
        await giveApart(folder, owner, this.#clock, signal)
      }
      given.add(folder)
    }
  }

  forget(podUid: string): void {
    this.#given.delete(podUid)
  }
}

/** `false` if there are too many files for this. */
async function givenHere(folder: string, owner: VolumeOwner, signal: AbortSignal): Promise<boolean> {
  const steps = givingToGroup(folder, owner)
  try {
    for (let count = 1; count <= mostHere; count += 1) {
      if (steps.next().done === true) return true
      if (count % stepsPerTurn === 0) await new Promise((resolve) => void setImmediate(resolve))
      if (signal.aborted) throw abortReason(signal)
    }
    return false
  } finally {
    // Closes what it has open.
    steps.return()
  }
}

/** Does it in a thread, which ends when the signal is aborted. */
async function giveApart(folder: string, owner: VolumeOwner, clock: Clock, signal: AbortSignal): Promise<void> {
  const { gid, readOnly } = owner
  const workerData = { folder, owner: { gid, ...(readOnly !== undefined && { readOnly }) } }
  const thread = new Worker(program, { workerData, name: 'volume owner' })
  let isLate = false
  const end = () => void thread.terminate()
  const cancel = clock.after(deadlineMs, () => {
    isLate = true
    end()
  })
  signal.addEventListener('abort', end, { once: true })
  try {
    await new Promise<void>((resolve, reject) => {
      thread.once('message', () => resolve())
      thread.once('error', reject)
      thread.once('exit', () => reject(isLate ? new Error(tooLong(folder)) : abortReason(signal)))
    })
  } finally {
    cancel()
    signal.removeEventListener('abort', end)
    await thread.terminate()
  }
}

function tooLong(folder: string): string {
  const minutes = deadlineMs / 60_000
  return `giving the files in ${folder} to fsGroup took more than ${minutes} minutes; fsGroupChangePolicy "OnRootMismatch" does it only once`
}
