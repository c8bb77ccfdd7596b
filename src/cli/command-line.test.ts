import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SluiceError } from '../foundation/errors.ts'
import { version } from '../platform/version.ts'
import { runCommandLine } from './command-line.ts'
import { exitCodeOf } from './exit-codes.ts'

let printed = ''
beforeEach(() => {
  printed = ''
  vi.spyOn(console, 'log').mockImplementation((line: string) => void (printed += `${line}\n`))
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((printed += String(text)), true))
})
afterEach(() => vi.restoreAllMocks())

describe('what is typed after sluice', () => {
  it.each([['--version'], ['-v'], ['-V'], ['version'], ['up --version'], ['model list --version']])(
    'says the version for %s',
    async (words) => {
      expect(await runCommandLine(words.split(' '))).toBe(0)
      expect(printed).toBe(`${version}\n`)
    },
  )

  it('says the version to programs, too', async () => {
    await runCommandLine(['version', '-o', 'json'])
    expect(JSON.parse(printed)).toEqual({
      version,
      node: process.versions.node,
      platform: expect.any(String) as string,
    })
  })

  it.each([
    ['', 'Usage: sluice COMMAND'],
    ['-h', 'Usage: sluice COMMAND'],
    ['help', 'Usage: sluice COMMAND'],
    ['model', 'Usage: sluice model COMMAND'],
    ['model --help', 'Usage: sluice model COMMAND'],
    ['model -h', 'Usage: sluice model COMMAND'],
    ['help model', 'Usage: sluice model COMMAND'],
    ['help model pull', 'Usage: sluice model pull MODEL'],
    ['model pull -h', 'Usage: sluice model pull MODEL'],
    ['up --help', 'Example'],
  ])('helps for "%s"', async (words, expected) => {
    expect(await runCommandLine(words.split(' ').filter(Boolean))).toBe(0)
    expect(printed).toContain(expected)
  })

  it.each([
    ['modle list', 'There is no command modle. Did you mean `sluice model`'],
    ['model lst', 'There is no command model lst. Did you mean `sluice model list`?'],
    ['model xyzzy', '`sluice model --help` lists them.'],
    ['xyzzy', 'There is no command xyzzy. `sluice --help` lists them.'],
    ['--verion', 'There is no command --verion.'],
  ])('says what was meant by "%s"', async (words, message) => {
    const refusal = await runCommandLine(words.split(' ')).catch((error: unknown) => error)
    expect(String(refusal)).toContain(message)
    expect(exitCodeOf(refusal)).toBe(2)
  })

  it('ends with a code that says what kind of failure it was', () => {
    const failed = (code: ConstructorParameters<typeof SluiceError>[0]) => exitCodeOf(new SluiceError(code))
    expect(failed('model_not_found')).toBe(2)
    expect(failed('cluster_unreachable')).toBe(4)
    expect(failed('nothing_runs')).toBe(4)
    expect(failed('pods_do_not_end')).toBe(5)
    expect(failed('backup_failed')).toBe(1)
    expect(exitCodeOf(new TypeError('a bug'))).toBe(1)
  })
})
