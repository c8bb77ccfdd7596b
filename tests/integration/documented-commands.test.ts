import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tinyPlainTemplate, writeTinyModel } from '../../src/engine/models/tiny-model.ts'
import { findProgram } from '../../src/node/isolation/detect-isolation.ts'
import { type FencedBlock, fencedBlocks } from '../support/markdown.ts'
import { kubectlPath } from '../support/programs.ts'
import { type BlockResult, ShellSession } from '../support/shell-session.ts'
import { SluiceProcess, killIfThere, podProcesses, processesMentioning } from '../support/sluice-process.ts'
import { Terminal } from '../support/terminal.ts'

// A newcomer types what README.md and the tutorial show, in this order. So does this test: every block of commands runs
// as it is, in one shell, beside a Sluice of its own. Whatever is done otherwise is in these tables.

const root = fileURLToPath(new URL('../../', import.meta.url))
const pages = ['README.md', 'docs/tutorial.md']
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** The block that starts everything, run in a process of its own with free ports, and a data directory elsewhere. */
const start = 'npm start'

/** Addresses that a page has for the usual ports. */
const substitutions = ({ endpoints }: SluiceProcess): Record<string, string> => ({
  'http://127.0.0.1:8000': endpoints.gateway ?? '',
})

/** Blocks that need a person at a terminal. */
const conversations: Record<string, (terminal: Terminal) => Promise<void>> = {
  'sluice run smollm2': async (terminal) => {
    const prompt = await terminal.sees('>>> ')
    terminal.type('Hi!\r')
    await terminal.sees('>>> ', prompt)
    terminal.type('/bye\r')
    expect(await terminal.exited).toBe(0)
  },
}

/** Blocks that need a cluster which is not here: the test that runs them, and the words by which it does. */
const runElsewhere: Record<string, readonly [path: string, words: string]> = {
  'helm install sluice charts/sluice --set registry=registry.example.com': [
    'tests/integration/chart.test.ts',
    "helm('install', 'demo', chart,",
  ],
}

/** A block without the comments behind its commands. */
const bare = ({ text }: FencedBlock) => text.replaceAll(/\s+#\s.*$/gm, '').trim()
const isCommands = ({ language }: FencedBlock) => language === 'sh'

describe('the blocks of README.md and the tutorial', () => {
  it('are all that the tables are about', () => {
    const there = pages.flatMap((path) => fencedBlocks(read(path)).map(bare))
    expect(there).toEqual(expect.arrayContaining([...Object.keys(conversations), ...Object.keys(runElsewhere)]))
  })

  it.each(pages)('are marked as commands where they are: %s', (path) => {
    const page = read(path)
    const languages = new Set(fencedBlocks(page).map(({ language }) => language))
    expect([...languages].filter((language) => !['sh', 'js', 'text'].includes(language))).toEqual([])
    const prose = fencedBlocks(page).reduce((rest, { text }) => rest.replace(text, ''), page)
    expect(prose).not.toMatch(/\n\n {4}\S/)
  })

  it('are run by the test that is named for them, where it is not this one', () => {
    for (const [path, words] of Object.values(runElsewhere)) expect(read(path)).toContain(words)
  })
})

describe.skipIf(kubectlPath === undefined || findProgram('script') === undefined).each(pages)(
  'the commands of %s (with kubectl, at a terminal)',
  (path) => {
    const blocks = fencedBlocks(read(path))
    const folder = join(tmpdir(), `sluice-newcomer-${randomUUID()}`)
    const data = join(folder, '.sluice')
    const env = {
      ...process.env,
      PATH: [dirname(kubectlPath ?? ''), process.env['PATH'] ?? ''].join(delimiter),
      XDG_CONFIG_HOME: join(data, 'config'),
    }
    let sluice: SluiceProcess | undefined
    let shell: ShellSession | undefined

    beforeAll(async () => {
      mkdirSync(folder)
      // As in a checkout, whose own .sluice belongs to somebody else.
      for (const name of ['bin', 'charts', 'examples']) symlinkSync(join(root, name), join(folder, name))
      // What the first start fetches, made here: no test needs a network. Its answers end with its context.
      const model = join(data, 'volumes/userdata/models/smollm2')
      mkdirSync(model, { recursive: true })
      await writeTinyModel(join(model, 'tiny.gguf'), { chatTemplate: tinyPlainTemplate, contextLength: 160 })
      shell = new ShellSession({ cwd: folder, env })
    })
    afterAll(() => {
      shell?.destroy()
      sluice?.destroy()
      if (existsSync(join(data, 'node/id'))) for (const pid of podProcesses(data)) killIfThere(pid)
      rmSync(folder, { recursive: true, force: true })
    })

    it('begin with the start', async () => {
      expect(blocks.filter(isCommands).map(bare).indexOf(start)).toBe(0)
      sluice = await SluiceProcess.start(data)
      // Both pages let their reader ask in the chat page next.
      const answer = await fetch(`${sluice.endpoints.gateway}/openai/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'smollm2', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 2 }),
        signal: AbortSignal.timeout(60_000),
      })
      expect(answer.status).toBe(200)
    })

    it.each(
      blocks
        .map((block, index) => ({ block, next: blocks[index + 1] }))
        .filter(({ block }) => isCommands(block) && bare(block) !== start && !(bare(block) in runElsewhere))
        .map(({ block, next }) => [bare(block), block, next] as const),
    )('work: %s', async (commands, block, next) => {
      const conversation = conversations[commands]
      if (conversation) {
        await converse(commands, conversation)
        return
      }
      const { failures, output } = await typed(block.text)
      expect({ failures, said: failures.length > 0 ? output : '' }).toEqual({ failures: [], said: '' })
      const [header] = next?.language === 'text' ? columnsIn(next.text) : columnsIn(output)
      expect(columnsIn(output)).toContainEqual(header)
    })

    it('end with everything at Ctrl-C', async () => {
      sluice?.pressControlC()
      const left = () => [...processesMentioning(data), ...podProcesses(data)]
      await expect.poll(left, { timeout: 30_000 }).toEqual([])
    })

    function typed(text: string): Promise<BlockResult> {
      if (!sluice || !shell) throw new Error('nothing runs')
      const replaced = Object.entries(substitutions(sluice)).reduce((all, [from, to]) => all.replaceAll(from, to), text)
      return shell.run(replaced)
    }

    async function converse(command: string, conversation: (terminal: Terminal) => Promise<void>): Promise<void> {
      const terminal = new Terminal(command.split(' '), {
        cwd: folder,
        env: { ...env, PATH: `${folder}/bin:${env.PATH}` },
      })
      try {
        await conversation(terminal)
      } finally {
        terminal.destroy()
      }
    }
  },
)

/** The cells of each line, as tables are printed: with two spaces or more between them. */
function columnsIn(output: string): string[][] {
  return output.split('\n').map((line) => line.trim().split(/ {2,}/))
}
