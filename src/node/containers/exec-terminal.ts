import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isExecutable } from '../isolation/detect-isolation.ts'
import { ContainerRefused, type ExecStreams } from '../pod-runtime.ts'
import type { ProcessIdentity } from '../processes/process-identity.ts'

const terminalPrograms = ['/usr/bin/script', '/bin/script']
const lookEveryMs = 50
const lookTimes = 60
const firstSizeMs = 100

type Sizes = NonNullable<ExecStreams['terminal']>
export type TerminalSize = Sizes extends AsyncIterable<infer Size> ? Size : never

/**
 * The command that runs another one in a terminal of its own. script(1) makes the terminal and takes keys from a pipe.
 */
export function terminalCommand(words: readonly string[], size: TerminalSize | undefined): string[] {
  const program = terminalPrograms.find(isExecutable)
  if (program === undefined) {
    throw new ContainerRefused(
      'RunContainerError',
      'this machine has no script(1), without which there are no terminals',
    )
  }
  const begin = size ? `stty ${sizeWords(size).join(' ')} 2>/dev/null; ` : ''
  const command = `${begin}exec ${words.map(quoted).join(' ')}`
  return [program, '--quiet', '--return', '--flush', '--command', command, '/dev/null']
}

/** Waits briefly for the client's first size, so that the program starts with the right one. */
export async function firstSize(sizes: Sizes): Promise<{ first: TerminalSize | undefined; later: Sizes }> {
  const iterator = sizes[Symbol.asyncIterator]()
  const next = iterator.next()
  const first = await Promise.race([next, sleep(firstSizeMs, undefined)])
  async function* later() {
    for (let result = first ? await iterator.next() : await next; !result.done; result = await iterator.next()) {
      yield result.value
    }
  }
  return { first: first && !first.done ? first.value : undefined, later: later() }
}

/** Applies the sizes that the client sends to the terminal of these processes. */
export async function followTerminalSize(
  sizes: Sizes,
  processes: () => Promise<readonly ProcessIdentity[]>,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const size of sizes) {
      const terminal = await findTerminal(processes, signal)
      if (terminal === undefined || signal.aborted) return
      await once(spawn('stty', ['-F', terminal, ...sizeWords(size)], { stdio: 'ignore', signal }), 'exit')
    }
  } catch {
    // The program has ended, or the machine has no stty(1). A terminal of the wrong size still works.
  }
}

/** Finds the terminal through a process that has it open: its name means something else outside the container. */
async function findTerminal(
  processes: () => Promise<readonly ProcessIdentity[]>,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (let tries = 0; tries < lookTimes && !signal.aborted; tries += 1) {
    const owner = (await processes()).find(({ pid }) => targetOf(`/proc/${pid}/fd/0`).startsWith('/dev/pts/'))
    if (owner) return `/proc/${owner.pid}/fd/0`
    await sleep(lookEveryMs)
  }
  return undefined
}

function sizeWords({ columns, rows }: TerminalSize): string[] {
  return ['cols', String(Math.trunc(columns)), 'rows', String(Math.trunc(rows))]
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}
