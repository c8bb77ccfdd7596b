import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import { CutOffError } from './cut-off-error.ts'

export interface ShellResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

interface Task {
  readonly script: string
  resolve(result: ShellResult): void
  reject(error: Error): void
}

const mostOutput = 2 ** 22

/**
 * A shell that runs scripts one after the other. Starting a process blocks this program for some milliseconds, longer
 * on a busy machine; a small shell can start programs without that. It ends with this program.
 */
export class HelperShell {
  readonly #sh: string
  readonly #clock: Clock
  readonly #deadlineMs: number
  readonly #tasks: Task[] = []
  #child: ChildProcess | undefined
  #isBusy = false

  constructor(sh: string, clock: Clock, deadlineMs: number) {
    this.#sh = sh
    this.#clock = clock
    this.#deadlineMs = deadlineMs
  }

  /** Throws if the shell cannot be started, or is cut off as it takes too long; a failing script is a result. */
  run(script: string): Promise<ShellResult> {
    return new Promise((resolve, reject) => {
      this.#tasks.push({ script, resolve, reject })
      void this.#work()
    })
  }

  /** Ends the shell; the next script starts a new one. */
  close(): void {
    this.#child?.stdin?.end()
    this.#child = undefined
  }

  async #work(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    for (let task = this.#tasks.shift(); task; task = this.#tasks.shift()) {
      try {
        task.resolve(await this.#perform(task.script))
      } catch (error) {
        task.reject(error instanceof Error ? error : new Error(errorMessage(error)))
      }
    }
    this.#isBusy = false
  }

  #perform(script: string): Promise<ShellResult> {
    const child = this.#open()
    const { stdin, stdout, stderr } = child
    if (!stdin || !stdout || !stderr) throw new Error(`${this.#sh} cannot be talked to`)
    hold(child)
    // Printed after each script, to find the end of its output.
    const mark = randomUUID()
    return new Promise<ShellResult>((resolve, reject) => {
      const fail = (error: Error) => {
        rest()
        kill(child)
        if (this.#child === child) this.#child = undefined
        reject(error)
      }
      const ended = () => fail(new CutOffError(`${this.#sh} ended in the midst of its work`))
      const failed = (error: Error) => fail(new Error(`${this.#sh} cannot be run: ${errorMessage(error)}`))
      const cancel = this.#clock.after(this.#deadlineMs, () =>
        fail(new CutOffError(`gave up after ${this.#deadlineMs / 1000} s`)),
      )
      const rest = () => {
        cancel()
        child.off('exit', ended)
        child.off('error', failed)
      }
      child.once('exit', ended)
      child.once('error', failed)
      void Promise.all([upTo(stdout, mark), upTo(stderr, mark)]).then(([said, complaint]) => {
        rest()
        resolve({ code: Number(said.rest), stdout: said.text, stderr: complaint.text.trim() })
      })
      stdin.write(`(\n${script}\n)\ncode=$?\necho "${mark} $code"; echo "${mark} $code" >&2\n`)
    }).finally(() => release(child))
  }

  #open(): ChildProcess {
    if (this.#child) return this.#child
    // In its own process group, so that a hanging script is killed with it.
    const child = spawn(this.#sh, ['-s'], { stdio: ['pipe', 'pipe', 'pipe'], detached: true, cwd: '/' })
    child.on('error', () => {})
    child.stdin?.on('error', () => {})
    child.stdout?.setEncoding('utf8')
    child.stderr?.setEncoding('utf8')
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined
    })
    this.#child = child
    return child
  }
}

/** The output before the mark, and the rest of the mark's line. Never settles if the mark does not come. */
function upTo(stream: Readable, mark: string): Promise<{ readonly text: string; readonly rest: string }> {
  return new Promise((resolve) => {
    let text = ''
    const read = (piece: string) => {
      // Searches only new data, and the part where the mark may have begun before.
      const from = Math.max(0, text.length - mark.length - 8)
      text += piece
      const at = text.indexOf(mark, from)
      const end = at < 0 ? -1 : text.indexOf('\n', at)
      if (end >= 0) {
        stream.off('data', read)
        resolve({ text: text.slice(0, at), rest: text.slice(at + mark.length + 1, end) })
      } else if (text.length > mostOutput) text = text.slice(-mostOutput)
    }
    stream.on('data', read)
  })
}

function kill(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    // The shell has already ended.
  }
}

/** An idle shell must not keep this program running. */
function release(child: ChildProcess): void {
  child.unref()
  for (const socket of socketsOf(child)) socket.unref()
}

function hold(child: ChildProcess): void {
  child.ref()
  for (const socket of socketsOf(child)) socket.ref()
}

function socketsOf(child: ChildProcess): Socket[] {
  return [child.stdin, child.stdout, child.stderr].filter((stream) => stream instanceof Socket)
}
