import { spawn } from 'node:child_process'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'

/** The machine's packet filter. */
export interface FilterTool {
  /** Makes all of these changes, or none and throws with the words of the program. */
  apply(text: string): Promise<void>
  /** Whether there is a chain of this name, such as `inet sluice_1 guard`. */
  hasChain(name: string): Promise<boolean>
}

const deadlineMs = 15_000
const mostComplaint = 2_000

/** By the program `nft`. */
export class NftTool implements FilterTool {
  readonly #nft: string
  readonly #clock: Clock

  constructor(nft: string, clock: Clock) {
    this.#nft = nft
    this.#clock = clock
  }

  async apply(text: string): Promise<void> {
    const complaint = await this.#run(['-f', '-'], text)
    if (complaint !== undefined) throw new Error(complaint)
  }

  async hasChain(name: string): Promise<boolean> {
    return (await this.#run(['-t', 'list', 'chain', ...name.split(' ')], '')) === undefined
  }

  /** What it has to complain about, if it failed. */
  #run(args: readonly string[], input: string): Promise<string | undefined> {
    return new Promise((resolve) => {
      const child = spawn(this.#nft, args, { stdio: ['pipe', 'ignore', 'pipe'] })
      const cancel = this.#clock.after(deadlineMs, () => child.kill('SIGKILL'))
      let said = ''
      child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(0, mostComplaint)))
      child.stdin.on('error', () => {})
      child.stdin.end(input)
      child.once('error', (error) => {
        cancel()
        resolve(`${this.#nft} cannot be run: ${errorMessage(error)}`)
      })
      child.once('close', (code, signal) => {
        cancel()
        if (code === 0) resolve(undefined)
        else resolve(`${this.#nft} ended with ${code ?? signal}: ${said.trim().replaceAll('\n', '; ')}`)
      })
    })
  }
}
