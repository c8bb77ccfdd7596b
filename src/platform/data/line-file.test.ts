import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { LineFile } from './line-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-line-file-'))
afterAll(() => rmSync(folder, { recursive: true }))

const module = join(import.meta.dirname, 'line-file.ts')

/** Runs the script in its own process, and returns the lines that it wrote. */
function linesOf(script: string, path: string): string[] {
  const program = `import { LineFile } from ${JSON.stringify(module)}\nconst file = new LineFile(${JSON.stringify(path)})\n${script}`
  execFileSync(process.execPath, ['--input-type=module', '--eval', program], { timeout: 30_000 })
  return readFileSync(path, 'utf8').trimEnd().split('\n')
}

describe('LineFile', () => {
  it('writes every line once, though the program ends in the middle of a write', () => {
    const script = `
      process.once('exit', () => file.close())
      for (let line = 0; line < 20000; line++) file.write('line ' + line + ' with ä and 漢 in it\\n')
      setImmediate(() => process.exit(0))`
    const expected = Array.from({ length: 20_000 }, (_, line) => `line ${line} with ä and 漢 in it`)
    expect(linesOf(script, join(folder, 'new', 'whole.log')).toSorted()).toEqual(expected.toSorted())
  })

  it('gathers until it is told to hand on, for the owner only', async () => {
    const path = join(folder, 'gathered.log')
    const file = new LineFile(path)
    file.write('one\n')
    expect(readFileSync(path, 'utf8')).toBe('')
    file.flush()
    await expect.poll(() => readFileSync(path, 'utf8')).toBe('one\n')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    file.close()
  })

  it('takes lines as bytes, too, from a place that is used again', async () => {
    const path = join(folder, 'bytes.log')
    const file = new LineFile(path)
    const place = Buffer.alloc(200_000)
    const expected: string[] = []
    for (const [count, length] of [3, 70_000, 200, 65_530, 1].entries()) {
      const text = `${count} ä ${'x'.repeat(length)}\n`
      expected.push(text, `${count}\n`)
      file.writeBytes(place.subarray(0, place.write(text)))
      file.write(`${count}\n`)
    }
    place.fill('?')
    file.flush()
    await expect.poll(() => readFileSync(path, 'utf8')).toBe(expected.join(''))
    file.close()
  })

  it('takes a line longer than a block', async () => {
    const path = join(folder, 'long.log')
    const file = new LineFile(path)
    for (const line of ['a', 'x'.repeat(200_000), 'b']) file.write(`${line}\n`)
    file.flush()
    const lengths = () =>
      readFileSync(path, 'utf8')
        .trimEnd()
        .split('\n')
        .map(({ length }) => length)
    await expect.poll(lengths).toEqual([1, 200_000, 1])
    file.close()
  })

  it('leaves lines out when the disk is behind, and says how many', async () => {
    const path = join(folder, 'behind.log')
    const file = new LineFile(path)
    const line = `${'y'.repeat(1_023)}\n`
    // Nothing is written before the program returns to its event loop.
    for (let count = 0; count < 6_000; count++) file.write(line)
    const lines = () => readFileSync(path, 'utf8').trimEnd().split('\n')
    const told = () => lines().filter((text) => text.includes('lines are missing here'))
    const flushed = () => {
      file.flush()
      return told()
    }
    await expect.poll(flushed).toHaveLength(1)
    const written = lines().filter((text) => text.startsWith('y')).length
    expect(JSON.parse(told()[0] ?? '')).toMatchObject({ lines: 6_000 - written })
    file.close()
  })

  it('goes on when a write fails', async () => {
    const { promise: lost, resolve: onLost } = Promise.withResolvers<number>()
    const file = new LineFile('/dev/full', onLost)
    file.write('lost\n')
    file.flush()
    expect(await lost).toBe(1)
    expect(() => {
      file.write('lost too\n')
      file.close()
    }).not.toThrow()
  })
})
