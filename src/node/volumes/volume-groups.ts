import { Worker } from 'node:worker_threads'
import { abortReason, type Clock } from '../../foundation/clock.ts'
import { type VolumeOwner, givingToGroup, isLeftAlone } from './volume-ownership.ts'

const program = new URL(`volume-ownership-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)
/** What is given here, in turns with everybody else: enough for what is usual, for which a thread would take longer. */
const mostHere = 512
const stepsPerTurn = 32
/** Some ten million files. */
const deadlineMs = 10 * 60_000

/** Gives volumes to the groups of Pods: each once, when the Pod first uses it. */
export class VolumeGroups {
  readonly #clock: Clock
  /** By Pod: the volumes that are given already. */
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

/** False where there is more than that is for. */
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
    // What it has open is closed.
    steps.return()
  }
}

/** In a thread of its own, for as long as somebody wants it. */
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
