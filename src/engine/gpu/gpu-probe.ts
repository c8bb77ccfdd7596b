import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Clock, abortReason, systemClock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { GpuBuild } from './gpu-probe-builds.ts'

const probeProgram = fileURLToPath(new URL('gpu-probe-program.ts', import.meta.url))
/** Long enough for a card newer than the build: the driver then compiles its kernels first, once per machine. */
const probeDeadlineMs = 90_000
/** How much of a child's output is kept. The end of it counts. */
const outputLimit = 16 * 1024
const reasonLimit = 300

export type Proof = { readonly works: true } | { readonly works: false; readonly reason: string }

export interface GpuBuildChoice<Build extends GpuBuild> {
  readonly builds: readonly Build[]
  /** The name of the build that has computed here before, if there is one. */
  readonly remembered: string | undefined
  readonly prove: (name: string) => Promise<Proof>
  readonly log: Logger
}

/** The build that is known to work here, else the first that proves it. Logs why the others before it do not work. */
export async function chooseGpuBuild<Build extends GpuBuild>(
  choice: GpuBuildChoice<Build>,
): Promise<Build | undefined> {
  const { builds, remembered, prove, log } = choice
  const known = builds.find(({ name }) => name === remembered)
  if (known) return known
  for (const build of builds) {
    const proof = await prove(build.name)
    if (proof.works) return build
    const { name, needs } = build
    log.warn({ build: name, reason: proof.reason, needs }, 'the GPU build of llama.cpp cannot compute on this machine')
  }
  if (builds.length > 0) log.warn('no GPU build of llama.cpp can compute here: computing on the CPU')
  return undefined
}

/**
 * Computes with a build of llama.cpp in a short-lived process. A build can load, find the card and load a model, and
 * still abort the whole process at its first computation; nothing inside that process can catch this.
 */
export async function probeGpuBuild(build: string, signal: AbortSignal): Promise<Proof> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-gpu-probe-'))
  try {
    const command = [process.execPath, probeProgram, build, folder] as const
    return await proveInChild({ command, deadlineMs: probeDeadlineMs, signal })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export interface ChildProof {
  readonly command: readonly [program: string, ...args: string[]]
  readonly deadlineMs: number
  readonly signal: AbortSignal
  readonly clock?: Clock
}

/**
 * Runs the child and waits for its message, which is the proof. A child that ends without one, in whatever way, has
 * proved nothing.
 */
export function proveInChild({ command, deadlineMs, signal, clock = systemClock }: ChildProof): Promise<Proof> {
  const [program, ...args] = command
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(abortReason(signal))
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // A backtrace would start a debugger and bury the reason under its output.
      env: { ...process.env, GGML_NO_BACKTRACE: '1' },
    })
    const output = collectOutput(child)
    const conclude = (proof: Proof) => {
      release()
      resolve(proof)
    }
    const onAbort = () => {
      release()
      reject(abortReason(signal))
    }
    const cancelDeadline = clock.after(deadlineMs, () => {
      conclude({ works: false, reason: `it computed nothing within ${deadlineMs / 1000} s` })
    })
    const release = () => {
      cancelDeadline()
      signal.removeEventListener('abort', onAbort)
      end(child)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    child.once('message', () => conclude({ works: true }))
    child.once('error', (error) => conclude({ works: false, reason: error.message }))
    child.once('close', (code, killedBy) => {
      const ending = killedBy === null ? `it ended with exit code ${code}` : `it was ended by ${killedBy}`
      conclude({ works: false, reason: lastWords(output()) ?? ending })
    })
  })
}

/** The line of the output that says why: the last that names an error, else the last one. */
export function lastWords(output: string): string | undefined {
  const lines = output.split('\n').flatMap((line) => line.trim() || [])
  const line =
    lines.findLast((text) => /error: /i.test(text)) ??
    lines.findLast((text) => /error|fail|cannot/i.test(text)) ??
    lines.at(-1)
  return line?.replace(/^error: /i, '').slice(0, reasonLimit)
}

/** Collects both streams, since llama.cpp writes its errors to either. */
function collectOutput(child: ChildProcess): () => string {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(-outputLimit)
    })
  }
  return () => output
}

/**
 * Kills the child without waiting for its end: a process that hangs in a driver does not end even when it is killed.
 */
function end(child: ChildProcess): void {
  child.kill('SIGKILL')
  child.stdout?.destroy()
  child.stderr?.destroy()
  if (child.connected) child.disconnect()
  child.unref()
}
