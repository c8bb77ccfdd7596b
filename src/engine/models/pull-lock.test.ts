import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { withPullLock } from './pull-lock.ts'

describe('withPullLock', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-lock-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  const run = <T>(work: () => Promise<T>, signal = new AbortController().signal) =>
    withPullLock(join(folder, 'lock'), systemClock, signal, work)

  it('lets one work after the other, and leaves nothing behind', async () => {
    const order: string[] = []
    const work = (name: string) => async () => {
      order.push(`${name} begins`)
      await new Promise((resolve) => setImmediate(resolve))
      order.push(`${name} ends`)
    }
    await Promise.all([run(work('one')), run(work('two'))])
    expect(order).toEqual([
      order[0],
      order[0]?.replace('begins', 'ends'),
      order[2],
      order[2]?.replace('begins', 'ends'),
    ])
    expect(await readdir(folder)).toEqual([])
  })

  it('takes over from a process that is gone', async () => {
    await writeFile(join(folder, 'lock'), '999999999 12345 some-id')
    expect(await run(() => Promise.resolve('done'))).toBe('done')
    // The process ID may have been reused: here it is that of this process, with another start time.
    await writeFile(join(folder, 'lock'), `${process.pid} 1 some-id`)
    expect(await run(() => Promise.resolve('done'))).toBe('done')
  })

  it('waits no longer than it is wanted, and frees the lock when the work fails', async () => {
    const abort = new AbortController()
    await run(async () => {
      const waiting = run(() => Promise.resolve('never'), abort.signal)
      abort.abort(new Error('enough'))
      await expect(waiting).rejects.toThrow('enough')
    })
    await expect(run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    expect(await readdir(folder)).toEqual([])
  })
})
