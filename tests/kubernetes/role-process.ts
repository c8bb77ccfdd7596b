import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const sluice = join(import.meta.dirname, '../../bin/sluice')
const startDeadlineMs = 60_000
const stopDeadlineMs = 20_000

type LogLine = Readonly<Record<string, unknown>>

/** A role of Sluice as it runs in a Pod, but as a process of this machine. It listens on loopback, at free ports. */
export class RoleProcess {
  readonly lines: LogLine[] = []
  readonly #child: ChildProcess
  readonly #waiting = new Set<() => void>()
  readonly #exited: Promise<unknown>

  private constructor(role: string, kubeconfig: string, flags: readonly string[]) {
    const words = [role, '--kubeconfig', kubeconfig, '--host', '127.0.0.1', '--health-port', '0', ...flags]
    this.#child = spawn(sluice, words, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#exited = once(this.#child, 'exit')
    if (!this.#child.stdout) throw new Error('it has no output')
    createInterface(this.#child.stdout).on('line', (text) => {
      this.lines.push(JSON.parse(text) as LogLine)
      for (const look of this.#waiting) look()
    })
    this.#child.on('exit', () => this.#waiting.forEach((look) => look()))
  }

  /** Resolves when it says that it is ready. */
  static async start(role: string, kubeconfig: string, flags: readonly string[] = []): Promise<RoleProcess> {
    const process = new RoleProcess(role, kubeconfig, flags)
    try {
      await process.says('ready', startDeadlineMs)
      return process
    } catch (error) {
      process.kill()
      throw error
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get healthUrl(): string {
    return `http://127.0.0.1:${String(this.lines.find(({ msg }) => msg === 'ready')?.['healthPort'])}`
  }

  /** The first line of its log with this message; waits for it. */
  async says(message: string, deadlineMs = startDeadlineMs): Promise<LogLine> {
    const find = () => this.lines.find(({ msg }) => msg === message)
    let cancel = () => {}
    try {
      return await new Promise<LogLine>((resolve, reject) => {
        const look = () => {
          const line = find()
          if (line) resolve(line)
          else if (this.#child.exitCode !== null) reject(new Error(`it has ended: ${JSON.stringify(this.lines)}`))
        }
        const timer = setTimeout(() => reject(new Error(`it does not say "${message}"`)), deadlineMs)
        cancel = () => {
          clearTimeout(timer)
          this.#waiting.delete(look)
        }
        this.#waiting.add(look)
        look()
      })
    } finally {
      cancel()
    }
  }

  /** What it has of the machine's memory, in MiB, with the pages of its program. */
  get residentMib(): number {
    const [, kib = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8')) ?? []
    return Number(kib) / 1024
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.kill(), stopDeadlineMs)
    await this.#exited
    clearTimeout(timer)
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
