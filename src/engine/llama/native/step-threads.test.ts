import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { idleMsIn, readCoreUse } from './core-use.ts'
import { type CoreUse, SpareCoreThreads, fixedThreads } from './step-threads.ts'

const prompt = 64

/** A machine with two cores, of which this process used one all the time, and others what is said. */
class Machine {
  #use: CoreUse | undefined = { atMs: 0, idleMs: 0, ownMs: 0 }
  readonly threads = new SpareCoreThreads({ cores: 2, threads: 1, read: () => this.#use })

  pass(ms: number, others: number): void {
    const { atMs, idleMs, ownMs } = this.#use ?? { atMs: 0, idleMs: 0, ownMs: 0 }
    this.#use = { atMs: atMs + ms, idleMs: idleMs + ms * Math.max(0, 1 - others), ownMs: ownMs + ms }
  }

  tellNothing(): void {
    this.#use = undefined
  }
}

describe('threads of a step', () => {
  it('are as many as somebody asked for, whatever others do', () => {
    expect([1, prompt].map((tokens) => fixedThreads(3).forStep(tokens))).toEqual([3, 3])
  })

  it('are all cores for a prompt, and for several answers together, while nobody else uses them', () => {
    const machine = new Machine()
    machine.pass(500, 0.1)
    expect([prompt, 8, 2].map((tokens) => machine.threads.forStep(tokens))).toEqual([2, 2, 2])
  })

  it('leave a core to others for the next token of a single answer', () => {
    const machine = new Machine()
    machine.pass(500, 0)
    expect(machine.threads.forStep(1)).toBe(1)
  })

  it('leave a core to others that work, and take it back when they have ended', () => {
    const machine = new Machine()
    machine.pass(500, 1)
    expect(machine.threads.forStep(prompt)).toBe(1)
    machine.pass(500, 0)
    expect(machine.threads.forStep(prompt)).toBe(2)
    machine.pass(300, 0.6)
    expect(machine.threads.forStep(prompt)).toBe(1)
  })

  it('stay as they were until enough time has passed to tell', () => {
    const machine = new Machine()
    machine.pass(100, 0)
    expect(machine.threads.forStep(prompt)).toBe(1)
    machine.pass(150, 0)
    expect(machine.threads.forStep(prompt)).toBe(2)
    machine.pass(150, 2)
    expect(machine.threads.forStep(prompt)).toBe(2)
    machine.pass(100, 2)
    expect(machine.threads.forStep(prompt)).toBe(1)
  })

  it('leave a core to others where the machine says nothing of its cores', () => {
    const machine = new Machine()
    machine.pass(500, 0)
    expect(machine.threads.forStep(prompt)).toBe(2)
    machine.tellNothing()
    expect(machine.threads.forStep(prompt)).toBe(1)
  })

  it('are one where there is one core', () => {
    const use = { atMs: 0, idleMs: 0, ownMs: 0 }
    let atMs = 0
    const threads = new SpareCoreThreads({ cores: 1, threads: 1, read: () => ({ ...use, atMs: (atMs += 500) }) })
    expect(threads.forStep(prompt)).toBe(1)
  })
})

describe('the use of cores', () => {
  it('is the first line of /proc/stat, idle and waiting for disks', () => {
    expect(idleMsIn('cpu  10132153 290696 3084719 46828483 16683 0 25195 0 175628 0')).toBe(468_451_660)
    expect(idleMsIn('')).toBeUndefined()
  })

  it('is read from the machine', async () => {
    const before = readCoreUse()
    await nextTurn()
    const now = readCoreUse()
    expect(now?.atMs).toBeGreaterThan(before?.atMs ?? Infinity)
    // Since the machine was started; of waiting for disks the kernel takes back some.
    expect(now?.idleMs).toBeGreaterThan(0)
    expect(now?.ownMs).toBeGreaterThanOrEqual(before?.ownMs ?? Infinity)
  })
})
