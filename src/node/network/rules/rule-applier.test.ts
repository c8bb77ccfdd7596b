import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../../foundation/fake-clock.ts'
import { silentLogger } from '../../../foundation/log.ts'
import type { FilterTool } from '../filter-tool.ts'
import { RuleApplier } from './rule-applier.ts'
import { TableBuilder, type TableParts } from './rule-text.ts'

class FakeFilter implements FilterTool {
  readonly applied: string[] = []
  failing: string | undefined
  isThere = true
  release: (() => void) | undefined

  begun = 0
  takesMs = 0
  readonly #clock: FakeClock

  constructor(clock: FakeClock) {
    this.#clock = clock
  }

  async apply(text: string): Promise<void> {
    this.begun += 1
    if (this.takesMs > 0) await this.#clock.sleep(this.takesMs)
    if (this.release) await new Promise<void>((resolve) => (this.release = resolve))
    if (this.failing !== undefined) throw new Error(this.failing)
    this.applied.push(text)
    this.isThere = true
  }

  async check(): Promise<void> {}

  async hasChain(): Promise<boolean> {
    return this.isThere
  }

  async read(): Promise<string> {
    return '{ "nftables": [] }'
  }
}

describe('the owner of the rules', () => {
  let clock: FakeClock
  let filter: FakeFilter
  let rule: string
  let applier: RuleApplier
  const parts = (): TableParts => {
    const table = new TableBuilder()
    table.chain('guard', [rule])
    table.memory(`clients_${rule}`, 'type ipv4_addr;')
    return table
  }
  beforeEach(() => {
    clock = new FakeClock()
    filter = new FakeFilter(clock)
    rule = 'one'
    applier = new RuleApplier({ table: 'inet t', tool: filter, parts, clock, log: silentLogger })
  })

  it('tells that rules are in force before what comes afterwards, to who asks for no more', async () => {
    const later = Promise.withResolvers<void>()
    const afterwards = () => later.promise
    applier = new RuleApplier({ table: 'inet t', tool: filter, parts, afterwards, clock, log: silentLogger })
    await applier.inForce()
    expect(filter.applied).toHaveLength(1)
    let isSettled = false
    const settled = applier.settle().then(() => (isSettled = true))
    await clock.advance(1_000)
    expect(isSettled).toBe(false)
    later.resolve()
    await settled
  })

  it('gathers changes, and does not wait for the last of many', async () => {
    for (let count = 0; count < 20; count += 1) {
      applier.changed()
      rule = `rule${count}`
      await clock.advance(10)
    }
    expect(filter.applied.length).toBeGreaterThan(1)
    expect(filter.applied.length).toBeLessThan(6)
    await clock.advance(100)
    expect(filter.applied.at(-1)).toContain('rule19')
  })

  it('rests longer the longer it takes, but not while somebody waits for it', async () => {
    filter.takesMs = 100
    const first = applier.settle()
    await clock.advance(100)
    await first
    rule = 'two'
    applier.changed()
    await clock.advance(399)
    expect(filter.begun).toBe(1)
    await clock.advance(1)
    expect(filter.begun).toBe(2)
    await clock.advance(100)
    rule = 'three'
    applier.changed()
    const waited = applier.settle()
    await clock.advance(100)
    await waited
    expect(filter.begun).toBe(3)
  })

  it('begins anew at first, and afterwards changes what is there', async () => {
    await applier.settle()
    expect(filter.applied[0]).toContain('delete table inet t')
    rule = 'two'
    await applier.settle()
    expect(filter.applied[1]).not.toContain('delete table')
    expect(filter.applied[1]).toContain('flush table inet t')
    expect(filter.applied[1]).toContain('delete set inet t clients_one')
  })

  it('does not apply the same rules twice', async () => {
    await applier.settle()
    await applier.settle()
    applier.changed()
    await clock.advance(1_000)
    expect(filter.applied).toHaveLength(1)
  })

  it('says why rules are not in force, and tries again until they are', async () => {
    filter.failing = 'no such chain'
    await expect(applier.settle()).rejects.toThrow('no such chain')
    expect(applier.problem).toBe('no such chain')
    await clock.advance(60_000)
    expect(applier.problem).toBe('no such chain')
    filter.failing = undefined
    await clock.advance(30_000)
    expect(applier.problem).toBeUndefined()
    expect(filter.applied).toHaveLength(1)
    expect(filter.applied[0]).toContain('delete table inet t')
  })

  it('makes one change at a time, and one more for what came meanwhile', async () => {
    filter.release = () => {}
    const first = applier.settle()
    await clock.advance(0)
    rule = 'two'
    const second = applier.settle()
    const third = applier.settle()
    const { release } = filter
    filter.release = undefined
    release?.()
    await Promise.all([first, second, third])
    expect(filter.applied).toHaveLength(2)
    expect(filter.applied[1]).toContain('two')
  })

  it('makes the rules again when somebody reloads the firewall of the machine', async () => {
    await applier.settle()
    filter.isThere = false
    await clock.advance(31_000)
    expect(filter.applied).toHaveLength(2)
    expect(filter.applied[1]).toBe(filter.applied[0])
    await clock.advance(120_000)
    expect(filter.applied).toHaveLength(2)
  })

  it('leaves nothing behind when it is told to, and nobody waiting', async () => {
    await applier.settle()
    await applier.close(true)
    expect(filter.applied.at(-1)).toBe('add table inet t\ndelete table inet t\n')
    expect(clock.pendingTimers).toBe(0)
    await expect(applier.settle()).rejects.toThrow('no longer kept')
  })
})
