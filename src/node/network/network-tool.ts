import { spawn } from 'node:child_process'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'

export interface NetworkPrograms {
  readonly ip: string
  readonly nsenter: string
  readonly sh: string
}

const deadlineMs = 15_000
const mostOutput = 2 ** 20

/**
 * The machine's network, changed by `ip` in batches of lines, one batch at a time: the kernel does not do two at once either. What
 * fails throws with the words of the program.
 */
export class NetworkTool {
  readonly #programs: NetworkPrograms
  readonly #clock: Clock
  #last: Promise<unknown> = Promise.resolve()

  constructor(programs: NetworkPrograms, clock: Clock) {
    this.#programs = programs
    this.#clock = clock
  }

  /** Stops at the first line that fails. */
  change(lines: readonly string[]): Promise<void> {
    return this.#inTurn([this.#programs.ip, '-batch', '-'], asInput(lines)).then(() => {})
  }

  /** Does what can be done of it: for what may be there, or gone, already. */
  async tryAll(lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return
    await this.#inTurn([this.#programs.ip, '-force', '-batch', '-'], asInput(lines)).catch(() => {})
  }

  /** The same inside of network namespaces, each with lines of its own, and after that their settings under /proc/sys/net. */
  async changeInside(
    places: ReadonlyArray<{ readonly namespace: string; readonly lines: readonly string[] }>,
    settings: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { nsenter, sh, ip } = this.#programs
    const writes = Object.entries(settings).map(([path, value]) => `echo '${value}' >/proc/sys/net/${path}`)
    const inside = [`'${ip}' -batch - || exit 1`, ...writes].join('\n')
    // One program for all of them: starting one costs this one more than what it does.
    const script = places.map(
      ({ namespace, lines }) =>
        `'${nsenter}' --net='${namespace}' '${sh}' -c "$1" <<'END' || exit 1\n${asInput(lines)}END`,
    )
    await this.#inTurn([sh, '-s', inside], asInput(script))
  }

  /** What `ip -json` says. */
  async read(words: readonly string[]): Promise<unknown> {
    const said = await this.#inTurn([this.#programs.ip, '-json', ...words], '')
    return said.trim() === '' ? [] : JSON.parse(said)
  }

  #inTurn(command: readonly string[], input: string): Promise<string> {
    const done = this.#last.then(() => this.#run(command, input))
    this.#last = done.catch(() => {})
    return done
  }

  #run([program = '', ...args]: readonly string[], input: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
      const cancel = this.#clock.after(deadlineMs, () => child.kill('SIGKILL'))
      let said = ''
      let complaint = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(0, mostOutput)))
      child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint = (complaint + text).slice(0, 2000)))
      child.stdin.on('error', () => {})
      child.stdin.end(input)
      child.once('error', (error) => {
        cancel()
        reject(new Error(`${program} cannot be run: ${errorMessage(error)}`))
      })
      child.once('close', (code, signal) => {
        cancel()
        if (code === 0) resolve(said)
        else reject(new Error(`${program} ended with ${code ?? signal}: ${complaint.trim().replaceAll('\n', '; ')}`))
      })
    })
  }
}

function asInput(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}
