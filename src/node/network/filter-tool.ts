import { spawn } from 'node:child_process'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import { CutOffError } from './cut-off-error.ts'

/** The machine's packet filter. */
export interface FilterTool {
  /** Makes all of these changes or none; throws with nft's message. */
  apply(text: string): Promise<void>
  /** Throws if these changes could not be made; makes none of them. */
  check(text: string): Promise<void>
  /** Whether a chain exists, such as `inet sluice_1 guard`. */
  hasChain(name: string): Promise<boolean>
  /** Runs nft with these arguments and returns its output. */
  read(args: readonly string[]): Promise<string>
}

const deadlineMs = 15_000
const mostComplaint = 2_000
const mostOutput = 16 * 2 ** 20

/** Uses the program `nft`. */
export class NftTool implements FilterTool {
  readonly #command: readonly string[]
  readonly #clock: Clock

  /** `command` is the program, with a prefix if it is to run elsewhere. */
  constructor(command: readonly string[], clock: Clock) {
    this.#command = command
    this.#clock = clock
  }

  async apply(text: string): Promise<void> {
    await this.#run(['-f', '-'], text)
  }

  async check(text: string): Promise<void> {
    await this.#run(['-c', '-f', '-'], text)
  }

  async hasChain(name: string): Promise<boolean> {
    return this.#run(['-t', 'list', 'chain', ...name.split(' ')], '').then(
      () => true,
      () => false,
    )
  }

  read(args: readonly string[]): Promise<string> {
    return this.#run(args, '')
  }

  /** Returns the output; throws with the error output if it fails. */
  #run(args: readonly string[], input: string): Promise<string> {
    const [program = '', ...before] = this.#command
    return new Promise((resolve, reject) => {
      const child = spawn(program, [...before, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
      const cancel = this.#clock.after(deadlineMs, () => child.kill('SIGKILL'))
      let [said, complaint] = ['', '']
      child.stdout.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(0, mostOutput)))
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        complaint = (complaint + text).slice(0, mostComplaint)
      })
      child.stdin.on('error', () => {})
      child.stdin.end(input)
      child.once('error', (error) => {
        cancel()
        reject(new Error(`${program} cannot be run: ${errorMessage(error)}`))
      })
      child.once('close', (code, signal) => {
        cancel()
        if (code === 0) return resolve(said)
        const why = `${program} ended with ${code ?? signal}: ${complaint.trim().replaceAll('\n', '; ')}`
        reject(signal === null ? new Error(why) : new CutOffError(why))
      })
    })
  }
}
