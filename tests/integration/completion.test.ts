import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findProgram } from '../../src/node/isolation/detect-isolation.ts'
import { ModelStage } from '../support/model-stage.ts'
import { Terminal } from '../support/terminal.ts'

const programs = fileURLToPath(new URL('../../bin', import.meta.url))
const stage = new ModelStage(['--no-gateway'])
const elsewhere = mkdtempSync(join(tmpdir(), 'sluice-completion-'))
const canSit = findProgram('script') !== undefined

/** How somebody starts each shell, and what its documentation has them type once. */
const shells = [
  { name: 'bash', words: ['bash', '--norc', '--noprofile', '-i'], setUp: 'source <(sluice completion bash)' },
  {
    name: 'zsh',
    words: ['zsh', '-f', '-i'],
    setUp: `autoload -Uz compinit; compinit -u -d ${elsewhere}/known; source <(sluice completion zsh)`,
  },
  { name: 'fish', words: ['fish', '--interactive', '--private'], setUp: 'sluice completion fish | source' },
].map((shell) => ({ ...shell, there: canSit && findProgram(shell.name) !== undefined }))

/** Somebody at the shell, who has set up completion. */
async function sitDown({ words, setUp }: (typeof shells)[number]): Promise<Terminal> {
  const home = join(elsewhere, 'home')
  mkdirSync(join(home, 'empty'), { recursive: true })
  const terminal = new Terminal(words, {
    // Files would be offered, too.
    cwd: join(home, 'empty'),
    env: {
      HOME: home,
      // Which keys the shells know depends on it.
      EDITOR: 'emacs',
      VISUAL: 'emacs',
      XDG_CONFIG_HOME: join(stage.data, 'config'),
      PATH: `${programs}:${process.env['PATH'] ?? ''}`,
    },
  })
  onTestFinished(() => terminal.destroy())
  terminal.type(`${setUp}; printf '%s|' set up\r`)
  await terminal.sees('set|up|')
  return terminal
}

/** What becomes of a line on which the key for completion is pressed. It is printed instead of run. */
async function completed(terminal: Terminal, line: string): Promise<string> {
  const before = terminal.said.length
  const toTheFront = '\u0001'
  terminal.type(`${line}\t${toTheFront}printf '%s|' \r`)
  await terminal.sees(/sluice\|\S*\|/, before)
  return /sluice\|[^\r\n]*\|/.exec(terminal.said.slice(before))?.[0] ?? ''
}

describe('the key for completion', () => {
  beforeAll(async () => {
    await stage.start()
    for (const name of ['grumpy-llama', 'sleepy-llama']) await stage.create(name, { minReplicas: 0 })
  })
  afterAll(async () => {
    await stage.destroy()
    rmSync(elsewhere, { recursive: true, force: true })
  })

  describe.each(shells)('in $name', (shell) => {
    it.skipIf(!shell.there)(
      `completes commands, flags and the Models that there are${shell.there ? '' : ` (skipped: no ${shell.name} or no script)`}`,
      async () => {
        const terminal = await sitDown(shell)
        expect(await completed(terminal, 'sluice wake sle')).toBe('sluice|wake|sleepy-llama|')
        expect(await completed(terminal, 'sluice model lis')).toBe('sluice|model|list|')
        expect(await completed(terminal, 'sluice model list --kubec')).toBe('sluice|model|list|--kubeconfig|')
        // With several that fit, all are shown.
        const before = terminal.said.length
        terminal.type('sluice wake \t\t')
        await terminal.sees('grumpy-llama', before)
        await terminal.sees('sleepy-llama', before)
      },
    )
  })
})
