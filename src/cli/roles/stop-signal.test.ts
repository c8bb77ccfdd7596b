import { EventEmitter } from 'node:events'
import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { stopSignal } from './stop-signal.ts'

describe('a program that is asked to end', () => {
  let clock: FakeClock
  let program: EventEmitter
  let ended: number[]
  let signal: AbortSignal
  beforeEach(() => {
    clock = new FakeClock()
    program = new EventEmitter()
    ended = []
    const exit = (code: number) => void ended.push(code)
    signal = stopSignal(Object.assign(program, { exit }) as unknown as NodeJS.Process, clock)
  })

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'])('by %s does so in good order', (name) => {
    expect(signal.aborted).toBe(false)
    program.emit(name)
    expect(signal.aborted).toBe(true)
    expect(ended).toEqual([])
  })

  it('by one Ctrl-C that comes from the terminal, from npm and from a script is asked once', async () => {
    for (const ms of [0, 1, 400]) {
      await clock.advance(ms)
      program.emit('SIGINT')
    }
    expect(ended).toEqual([])
  })

  it('once more, by somebody who does not want to wait, ends at once', async () => {
    program.emit('SIGTERM')
    await clock.advance(1_000)
    program.emit('SIGINT')
    expect(ended).toEqual([130])
  })
})
