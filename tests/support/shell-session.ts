import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './sluice-process.ts'

const patienceMs = 120_000

export interface BlockResult {
  /** All that was printed, errors too. */
  readonly output: string
  /** The commands that failed, and what they ended with. */
  readonly failures: readonly string[]
}

/** A shell in which somebody runs one block of commands after the other: what one block exports, the next one has. */
export class ShellSession {
  readonly #shell: ChildProcess
  readonly #scratch = mkdtempSync(join(tmpdir(), 'sluice-shell-'))
  readonly #mark = `mark-${randomBytes(8).toString('hex')}`
  #said = ''
  #blocks = 0

  constructor(options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
    this.#shell = spawn('bash', ['--norc', '--noprofile'], { ...options, detached: true })
    for (const stream of [this.#shell.stdout, this.#shell.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.#said += text))
    }
    // A pipe fails with any of its commands, and each command that fails is told, not only the last of a block.
    this.#type(`set -E -o pipefail; exec 2>&1; trap 'echo "${this.#mark} failed: $? $BASH_COMMAND"' ERR`)
  }

  async run(block: string): Promise<BlockResult> {
    const file = join(this.#scratch, `${++this.#blocks}.sh`)
    const end = `${this.#mark} end of ${this.#blocks}\n`
    const from = this.#said.length
    writeFileSync(file, block)
    this.#type(`source ${file} </dev/null; echo "${end.trim()}"`)
    await until(`the end of: ${block}`, patienceMs, () => this.#said.includes(end, from)).catch((error: unknown) => {
      throw new Error(`all that was seen: ${this.#said.slice(from)}`, { cause: error })
    })
    const lines = this.#said.slice(from, this.#said.indexOf(end, from)).split('\n')
    const isFailure = (line: string) => line.startsWith(`${this.#mark} failed: `)
    return {
      output: lines.filter((line) => !isFailure(line)).join('\n'),
      failures: lines.filter(isFailure).map((line) => line.slice(this.#mark.length + ' failed: '.length)),
    }
  }

  /** Ends the shell with whatever it still runs. */
  destroy(): void {
    try {
      if (this.#shell.pid !== undefined) process.kill(-this.#shell.pid, 'SIGKILL')
    } catch {
      // It has ended already.
    }
    rmSync(this.#scratch, { recursive: true, force: true })
  }

  #type(line: string): void {
    this.#shell.stdin?.write(`${line}\n`)
  }
}
