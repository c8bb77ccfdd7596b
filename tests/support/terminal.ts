import { type ChildProcess, spawn } from 'node:child_process'
import { until } from './sluice-process.ts'

const patienceMs = 60_000

/** A program at a real pseudo-terminal, which `script` makes, and somebody who types at it. */
export class Terminal {
  readonly #child: ChildProcess
  readonly exited: Promise<number | null>
  said = ''

  constructor(words: readonly string[], options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {}) {
    const command = `stty cols 120 rows 40; exec ${words.map(quoted).join(' ')}`
    const env = { ...process.env, SHELL: '/bin/sh', TERM: 'xterm', ...options.env }
    this.#child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], { cwd: options.cwd, env })
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.said += text))
    this.exited = new Promise((resolve) => this.#child.on('exit', resolve))
  }

  type(text: string): void {
    this.#child.stdin?.write(text)
  }

  pressControlC(): void {
    this.type('\u0003')
  }

  /** Waits until it has said something since a place in what it said; returns the place after it. */
  async sees(what: string | RegExp, since = 0): Promise<number> {
    let end = -1
    await until(`${String(what)} at the terminal`, patienceMs, () => {
      const rest = this.said.slice(since)
      const found = typeof what === 'string' ? rest.indexOf(what) : rest.search(what)
      end = found < 0 ? -1 : since + found + (typeof what === 'string' ? what.length : 1)
      return end >= 0
    }).catch((error: unknown) => {
      throw new Error(`all that was seen: ${this.said}`, { cause: error })
    })
    return end
  }

  destroy(): void {
    this.#child.kill('SIGKILL')
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
