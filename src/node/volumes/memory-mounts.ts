import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Clock, systemClock } from '../../foundation/clock.ts'
import { namesInFolder } from '../names-in-folder.ts'
import { programRunner } from '../processes/run-program.ts'

const deadlineMs = 10_000

/** Mounts memory (tmpfs) as folders, with a size that the kernel enforces. Needs root and `mount`. */
export class MemoryMounts {
  readonly #clock: Clock

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  /** Keeps an existing mount. `refused` if this machine does not allow it. */
  async mount(folder: string, bytes: number, signal: AbortSignal): Promise<'new' | 'there' | 'refused'> {
    if (process.getuid?.() !== 0) return 'refused'
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (isMountPoint(folder)) return 'there'
    // Any user of the Pod's containers may write to it, but setuid files and devices do not work in it.
    const options = `size=${bytes},mode=0777,nosuid,nodev`
    const run = programRunner(this.#clock, deadlineMs)
    const result = await run('mount', ['-t', 'tmpfs', '-o', options, 'sluice', folder], signal)
    return result.ran && result.exitCode === 0 ? 'new' : 'refused'
  }

  /**
   * Detaches all mounts in a folder: open files stay usable, but nobody else sees them any more. Returns whether there
   * were any.
   */
  async unmountIn(folder: string): Promise<boolean> {
    const mounted = mountPointsIn(folder)
    if (mounted.length === 0) return false
    await programRunner(this.#clock, deadlineMs)('umount', unmountWords(mounted), new AbortController().signal)
    return true
  }

  /** The same synchronously, for when the program is about to end. */
  unmountNow(folders: readonly string[]): void {
    const mounted = folders.flatMap(mountPointsIn)
    if (mounted.length > 0) spawnSync('umount', unmountWords(mounted), { stdio: 'ignore', timeout: deadlineMs })
  }
}

/** Whether new mounts below a folder appear in existing namespaces. */
export function mountsSpreadFrom(folder: string): boolean {
  const path = realpathSync.native(folder)
  let [longest, spreads] = ['', false]
  for (const line of readFileSync('/proc/self/mountinfo', 'utf8').split('\n')) {
    const [, , , , point = '', , ...rest] = line.split(' ')
    const isAbove = point === '/' || path === point || path.startsWith(`${point}/`)
    // Of several mounts in one place, the last one counts.
    if (!isAbove || point.length < longest.length) continue
    longest = point
    spreads = rest.slice(0, rest.indexOf('-')).some((field) => field.startsWith('shared:'))
  }
  return spreads
}

export function isMountPoint(folder: string): boolean {
  const facts = statSync(folder, { throwIfNoEntry: false })
  return facts !== undefined && facts.dev !== statSync(dirname(folder)).dev
}

function mountPointsIn(folder: string): string[] {
  return namesInFolder(folder)
    .map((name) => join(folder, name))
    .filter(isMountPoint)
}

function unmountWords(folders: readonly string[]): string[] {
  return ['-l', ...folders]
}
