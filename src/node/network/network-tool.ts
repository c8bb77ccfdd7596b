import type { Clock } from '../../foundation/clock.ts'
import type { AddressFamily } from '../../resources/address-range.ts'
import { CutOffError } from './cut-off-error.ts'
import { HelperShell } from './helper-shell.ts'

export interface NetworkPrograms {
  readonly ip: string
  readonly nsenter: string
  readonly sh: string
}

const deadlineMs = 15_000
const mostComplaint = 2_000

/**
 * Changes the machine's network with `ip`, in batches and one batch at a time, as the kernel would do them anyway.
 * Errors carry ip's message.
 */
export class NetworkTool {
  readonly #programs: NetworkPrograms
  readonly #shell: HelperShell

  constructor(programs: NetworkPrograms, clock: Clock) {
    this.#programs = programs
    this.#shell = new HelperShell(programs.sh, clock, deadlineMs)
  }

  /** Stops at the first line that fails. */
  async change(lines: readonly string[]): Promise<void> {
    await this.#run('ip', `'${this.#programs.ip}' -batch - ${asInput(lines)}`)
  }

  /** Makes all changes that work: for things that may already exist, or be gone. */
  async tryAll(lines: readonly string[], family?: AddressFamily): Promise<void> {
    await this.ensure(lines, family).catch(() => {})
  }

  /** Makes all changes that work, for what others rely on: throws if it was cut off, so that nobody knows which. */
  async ensure(lines: readonly string[], family?: AddressFamily): Promise<void> {
    if (lines.length === 0) return
    const option = family === undefined ? '' : ` -${family}`
    await this.#run('ip', `'${this.#programs.ip}'${option} -force -batch - ${asInput(lines)}`).catch((error) => {
      if (error instanceof CutOffError) throw error
    })
  }

  /** Makes changes inside network namespaces, then sets values under /proc/sys/net there. */
  async changeInside(
    places: ReadonlyArray<{ readonly namespace: string; readonly lines: readonly string[] }>,
    settings: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { nsenter, sh, ip } = this.#programs
    const writes = Object.entries(settings).map(([path, value]) => `echo "${value}" >/proc/sys/net/${path}`)
    const inside = [`${ip} -batch - || exit 1`, ...writes].join('\n')
    const each = places.map(
      ({ namespace, lines }) =>
        `'${nsenter}' --net='${namespace}' '${sh}' -c '${inside}' ${asInput(lines, '|| exit 1')}`,
    )
    await this.#run('ip', each.join('\n'))
  }

  /** The parsed output of `ip -json`. */
  async read(words: readonly string[]): Promise<unknown> {
    const said = await this.#run('ip', `'${this.#programs.ip}' -json ${words.join(' ')}`)
    return said.trim() === '' ? [] : JSON.parse(said)
  }

  /** Ends the helper shell until it is needed again. */
  close(): void {
    this.#shell.close()
  }

  async #run(program: string, script: string): Promise<string> {
    const { code, stdout, stderr } = await this.#shell.run(script)
    if (code === 0) return stdout
    throw new Error(`${program} ended with ${code}: ${stderr.slice(0, mostComplaint).replaceAll('\n', '; ')}`)
  }
}

/** Lines as the standard input of a command; `then` stands at the end of it. */
function asInput(lines: readonly string[], then = ''): string {
  return `<<'END' ${then}\n${lines.map((line) => `${line}\n`).join('')}END`
}
