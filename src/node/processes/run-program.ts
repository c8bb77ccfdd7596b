import { spawn } from 'node:child_process'
import type { Clock } from '../../foundation/clock.ts'
import { linkSignals } from '../../foundation/linked-signal.ts'

export type ProgramResult =
  | { readonly ran: true; readonly exitCode: number; readonly output: string }
  | { readonly ran: false; readonly reason: 'missing' | 'failed'; readonly message: string }

/** Runs a program to its end. Never throws: failures are results. */
export type RunProgram = (program: string, args: readonly string[], signal: AbortSignal) => Promise<ProgramResult>

const mostOutput = 2 ** 20

/** Runs real programs, with a deadline for each run. */
export function programRunner(clock: Clock, deadlineMs: number): RunProgram {
  return (program, args, signal) =>
    new Promise((resolve) => {
      const linked = linkSignals(signal)
      const cancelTimer = clock.after(deadlineMs, () => linked.abort(new Error(`${program} took too long`)))
      const cancel = () => {
        cancelTimer()
        linked.release()
      }
      const child = spawn(program, args, {
        stdio: ['ignore', 'pipe', 'pipe'],
        signal: linked.signal,
        killSignal: 'SIGKILL',
      })
      let output = ''
      const listen = (chunk: Buffer) => (output = (output + chunk.toString()).slice(0, mostOutput))
      child.stdout.on('data', listen)
      child.stderr.on('data', listen)
      child.once('error', (error: NodeJS.ErrnoException) => {
        cancel()
        resolve({ ran: false, reason: error.code === 'ENOENT' ? 'missing' : 'failed', message: error.message })
      })
      child.once('close', (code, killedBy) => {
        cancel()
        if (code === null) resolve({ ran: false, reason: 'failed', message: `${program} was ended by ${killedBy}` })
        else resolve({ ran: true, exitCode: code, output })
      })
    })
}
