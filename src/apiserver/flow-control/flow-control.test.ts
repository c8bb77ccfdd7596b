import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { Metrics } from '../../foundation/metrics.ts'
import { FlowControl, type FlowLimits, type FlowTicket, defaultFlowLimits } from './flow-control.ts'

const [alice, bob] = [
  { level: 'user', flow: 'one alice a' },
  { level: 'user', flow: 'one bob b' },
] as const

function start(limits: Partial<FlowLimits> = {}) {
  const clock = new FakeClock()
  const metrics = new Metrics()
  let now = 0
  const control = new FlowControl({ limits: { ...defaultFlowLimits, ...limits }, clock, metrics, now: () => now })
  const work = (ms: number) => {
    now += ms
  }
  /** Works for this long when it is its turn. */
  const ask = async (caller: typeof alice | typeof bob, ms: number, done?: (ticket: FlowTicket) => unknown) => {
    const ticket = control.arrive(caller)
    try {
      const turn = ticket.enter(false)
      if (turn) await turn
      work(ms)
      await done?.(ticket)
    } finally {
      ticket.leave()
    }
  }
  return { control, clock, metrics, work, ask }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('flow control', () => {
  it('keeps nobody waiting while there is little to do', () => {
    const { control } = start()
    expect(control.arrive(alice).enter(false)).toBeUndefined()
    expect(control.arrive(alice).enter(true)).toBeUndefined()
  })

  it('does so much in a turn and no more, and then whose flow has used least', async () => {
    const { ask } = start({ turnMs: 10 })
    const order: string[] = []
    const asked = Array.from({ length: 6 }, (_, index) => ask(alice, 4, () => order.push(`alice ${index}`)))
    asked.push(...Array.from({ length: 2 }, (_, index) => ask(bob, 4, () => order.push(`bob ${index}`))))
    await Promise.all(asked)
    const first = order.indexOf('bob 0')
    expect(first).toBeLessThan(4)
    expect(order.indexOf('bob 1')).toBeLessThan(first + 3)
    expect(order.filter((who) => who.startsWith('alice'))).toHaveLength(6)
  })

  it('lets the loop turn between', async () => {
    const { ask } = start({ turnMs: 10 })
    let turns = 0
    const count = () => {
      turns++
      counting = setImmediate(count)
    }
    let counting = setImmediate(count)
    await Promise.all(Array.from({ length: 50 }, () => ask(alice, 5)))
    clearImmediate(counting)
    expect(turns).toBeGreaterThanOrEqual(20)
  })

  it('takes long work in slices, with others in between', async () => {
    const { ask, work } = start({ turnMs: 10, sliceMs: 5 })
    const order: string[] = []
    const list = ask(alice, 0, async (ticket) => {
      for (let slice = 0; slice < 10; slice++) {
        while (!ticket.isOver) work(1)
        order.push('slice')
        await ticket.next()
      }
    })
    await turn()
    await ask(bob, 1, () => order.push('bob'))
    await list
    expect(order.indexOf('bob')).toBeLessThanOrEqual(5)
    expect(order).toHaveLength(11)
  })

  it('asks who has too much under way to come again, and nobody else', () => {
    const { control } = start({ requestsInFlight: 10 })
    for (let count = 0; count < 5; count++) control.arrive(alice)
    expect(() => control.arrive(alice)).toThrow(/5 requests of alice a are being answered already/)
    const ticket = control.arrive(bob)
    ticket.leave()
    ticket.leave()
    expect(control.requests.free).toBe(5)
  })

  it('bounds what bodies and lists of one hold, and gives it back', () => {
    const { control } = start({ bodyBytesInFlight: 4 * 1024 * 1024, listItemsInFlight: 10_000 })
    const ticket = control.arrive(alice)
    ticket.bookBytes(1024 * 1024)
    ticket.bookItems(5_000)
    expect(() => control.arrive(alice).bookBytes(2 * 1024 * 1024)).toThrow(/bodies of 1 MiB from alice a/)
    expect(() => control.arrive(alice).bookItems(5_000)).toThrow(/lists of 5000 objects are being sent to alice a/)
    control.arrive(bob).bookBytes(3 * 1024 * 1024)
    ticket.leave()
    expect(control.items.free).toBe(10_000)
  })

  it('keeps nobody waiting behind writes of another', async () => {
    const { control } = start()
    const held = Array.from({ length: 32 }, () => control.arrive(alice))
    for (const ticket of held) expect(ticket.enter(true)).toBeUndefined()
    const late = control.arrive(alice)
    let isIn = false
    const entered = late.enter(true)?.then(() => (isIn = true))
    await turn()
    expect(isIn).toBe(false)
    await control.arrive(bob).enter(true)
    for (const ticket of held.slice(0, 2)) ticket.leave()
    await entered
    expect(isIn).toBe(true)
  })

  it('gives up on who has waited too long, and says so', async () => {
    const { control, clock, metrics } = start({ queueMs: 1_000 })
    for (let count = 0; count < 32; count++) await control.arrive(alice).enter(true)
    const refused = control
      .arrive(alice)
      .enter(true)
      ?.catch((error: unknown) => error)
    await clock.advance(1_000)
    expect(await refused).toMatchObject({ reason: 'TooManyRequests', details: { retryAfterSeconds: 1 } })
    expect(await metrics.text()).toContain('sluice_apiserver_flow_refused_total{level="user",reason="deadline"} 1')
  })
})
