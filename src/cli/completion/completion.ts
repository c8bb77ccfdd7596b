import { SluiceError } from '../../foundation/errors.ts'
import type { ArgumentKind, Command } from '../command.ts'
import { onlyPositional, parseFlags } from '../flags.ts'
import { withModels } from '../running/running-flags.ts'
import { completionsFor } from './complete-words.ts'
import { completionScripts, shells } from './completion-scripts.ts'

/** Somebody waits with a finger on the key; it takes a moment, unless the cluster does not answer. */
const patienceMs = 5_000

export const completionCommand: Command = {
  name: 'completion',
  summary: 'Print what bash, zsh or fish reads to complete commands, flags and the names of models.',
  example: 'source <(sluice completion bash)\nsluice completion fish > ~/.config/fish/completions/sluice.fish',
  positional: 'bash|zsh|fish',
  completes: shells,
  flags: [],
  run(args) {
    const asked = onlyPositional(parseFlags([], args), 'SHELL', `name one: ${shells.join(', ')}.`)
    const shell = shells.find((one) => one === asked)
    if (shell === undefined) {
      const reason = `"${asked}" is not known; ${shells.join(', ')} are.`
      throw new SluiceError('invalid_flag', { flag: 'SHELL', reason })
    }
    process.stdout.write(completionScripts[shell])
    return Promise.resolve(0)
  },
}

/** What the scripts of shells ask: the words so far, the last of them perhaps only begun. */
export function completeCommand(commands: () => readonly Command[]): Command {
  return {
    name: '__complete',
    summary: 'Print what the last of some words could become.',
    example: 'sluice __complete -- model li',
    positional: '-- WORDS...',
    hidden: true,
    flags: [],
    async run(args) {
      const { positionals } = parseFlags([], args)
      const offered = await completionsFor(positionals, commands(), liveNames)
      process.stdout.write(offered.map((word) => `${word}\n`).join(''))
      return 0
    },
  }
}

async function liveNames(kind: Extract<ArgumentKind, string>): Promise<readonly string[]> {
  if (kind === 'file') return []
  const { systemClock } = await import('../../foundation/clock.ts')
  const given = new AbortController()
  const tooLate = systemClock.sleep(patienceMs, given.signal).catch(() => {})
  try {
    const asked = Promise.all([namesInCluster(kind), kind === 'known model' ? knownNames() : []])
    return (await Promise.race([asked, tooLate.then(() => [])])).flat()
  } finally {
    given.abort()
  }
}

/** Nothing where nothing runs: somebody who presses a key does not want to read about it. */
async function namesInCluster(kind: string): Promise<readonly string[]> {
  try {
    return await withModels({ text: () => undefined }, async (models) => {
      const [all, pods] = await Promise.all([models.list(), kind === 'model or pod' ? models.pods() : []])
      return [...all, ...pods].map(({ metadata }) => metadata.name)
    })
  } catch {
    return []
  }
}

async function knownNames(): Promise<readonly string[]> {
  const { knownModels } = await import('../../engine/models/known-models.ts')
  return [...Object.keys(knownModels), 'hf:']
}
