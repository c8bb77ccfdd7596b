import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { formatRecord } from '../logs/log-format.ts'
import { terminationMessage } from './termination-message.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-message-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const file = () => join(folder, 'message')
const log = () => join(folder, '0.log')
const message = (exitCode = 1, fallsBackToLog = false) =>
  terminationMessage({ file: file(), fallsBackToLog }, log(), exitCode)

describe('the message of a container that ended', () => {
  it('is the end of what it wrote, 4 KiB of it', async () => {
    writeFileSync(file(), `${'a'.repeat(10_000)}the end`)
    const text = (await message()) ?? ''
    expect(Buffer.byteLength(text)).toBe(4096)
    expect(text.endsWith('athe end')).toBe(true)
  })

  it('is never that of a file that a link leads to, and nothing is waited for', async () => {
    writeFileSync(join(folder, 'secret'), 'a secret of the machine')
    symlinkSync(join(folder, 'secret'), file())
    expect(await message()).toBeUndefined()
    rmSync(file())
    execFileSync('mkfifo', [file()])
    expect(await message()).toBeUndefined()
    rmSync(file())
    mkdirSync(file())
    expect(await message()).toBeUndefined()
  })

  it('is the end of its log only where it failed, wrote nothing, and asked for that', async () => {
    writeLog(['first', 'last words'])
    expect(await message(1, true)).toBe('first\nlast words')
    expect(await message(0, true)).toBeUndefined()
    expect(await message(1, false)).toBeUndefined()
    writeFileSync(file(), 'from the file')
    expect(await message(1, true)).toBe('from the file')
  })

  it('is at most 80 lines or 2048 bytes of a log', async () => {
    writeLog(Array.from({ length: 200 }, (_, index) => `line ${index}`))
    expect((await message(1, true))?.split('\n')).toEqual(
      Array.from({ length: 80 }, (_, index) => `line ${index + 120}`),
    )
    writeLog(Array.from({ length: 50 }, () => 'ö'.repeat(100)))
    const text = (await message(1, true)) ?? ''
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2048)
    expect(text).toMatch(/^ö[ö\n]*ö$/)
  })
})

function writeLog(lines: readonly string[]): void {
  const records = lines.map((line) => formatRecord(0, 'F', Buffer.from(line)))
  writeFileSync(log(), Buffer.concat(records))
}
