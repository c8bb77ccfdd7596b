import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { HelperShell } from './helper-shell.ts'

const sh = '/bin/sh'
const alive = (pid: string) => existsSync(`/proc/${pid}`)

describe.runIf(process.platform === 'linux')('a shell that helps', () => {
  let shell: HelperShell
  beforeEach(() => {
    shell = new HelperShell(sh, systemClock, 10_000)
  })
  afterEach(() => shell.close())

  it('says what scripts say and how they end, one after the other', async () => {
    const [first, second, third] = await Promise.all([
      shell.run('echo one; echo two >&2; exit 3'),
      shell.run("cat <<'END'\nlines $of\nEND\nprintf unended"),
      shell.run('false || exit 1'),
    ])
    expect(first).toEqual({ code: 3, stdout: 'one\n', stderr: 'two' })
    expect(second).toEqual({ code: 0, stdout: 'lines $of\nunended', stderr: '' })
    expect(third?.code).toBe(1)
  })

  it('is one process for all of them, and nothing of one is there for the next', async () => {
    const { stdout: pid } = await shell.run('echo $$; cd /tmp; word=secret')
    expect((await shell.run('echo $$')).stdout).toBe(pid)
    expect((await shell.run('echo "$word"; pwd')).stdout).toBe('\n/\n')
  })

  it('takes much at once', async () => {
    const { stdout } = await shell.run('yes words | head -c 1000000')
    expect(stdout).toHaveLength(1_000_000)
    const lines = 'line\n'.repeat(50_000)
    expect((await shell.run(`wc -l <<'END'\n${lines}END`)).stdout.trim()).toBe('50000')
  })

  it('is ended with what it runs when that takes too long, and there is another one then', async () => {
    const clock = new FakeClock()
    const slow = new HelperShell(sh, clock, 1_000)
    const { stdout } = await slow.run('echo $$')
    const hanging = slow.run('sleep 1000')
    const next = slow.run('echo again')
    const [result] = await Promise.all([
      hanging.catch((error: unknown) => String(error)),
      setImmediate().then(() => clock.advance(1_000)),
    ])
    expect(result).toContain('gave up after 1 s')
    expect((await next).stdout).toBe('again\n')
    await expect.poll(() => alive(stdout.trim()), { timeout: 5_000 }).toBe(false)
    slow.close()
  })

  it('says so where it dies, and is begun again', async () => {
    await expect(shell.run('kill -9 $$; sleep 1')).rejects.toThrow('ended in the midst')
    expect((await shell.run('echo here')).stdout).toBe('here\n')
  })

  it('says so where it is not there', async () => {
    const none = new HelperShell('/no/such/shell', systemClock, 1_000)
    await expect(none.run('true')).rejects.toThrow('/no/such/shell')
  })

  it('keeps no program from ending, and ends with it', async () => {
    const file = fileURLToPath(new URL('helper-shell.ts', import.meta.url))
    const script = `
      const { HelperShell } = await import(${JSON.stringify(file)})
      const clock = { now: () => Date.now(), after: (ms, act) => { const t = setTimeout(act, ms); return () => clearTimeout(t) } }
      console.log((await new HelperShell('/bin/sh', clock, 10_000).run('echo $$')).stdout)`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      timeout: 15_000,
    })
    expect(stdout.trim()).toMatch(/^\d+$/)
    await expect.poll(() => alive(stdout.trim()), { timeout: 5_000 }).toBe(false)
  })
})
