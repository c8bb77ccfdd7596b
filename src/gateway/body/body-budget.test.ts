import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import type { Done, Exchange } from '../../relay/exchange.ts'
import { BodyBudget, type BodyLimits } from './body-budget.ts'

/** Just enough of an exchange: a body whose pieces arrive when the test says so. */
function upload() {
  let show: (piece: Buffer) => boolean = () => true
  let end: Done = () => {}
  const exchange = {
    bodyArrived: false,
    readBodyUntil: (_limit: number, enough: (piece: Buffer) => boolean, done: Done) => {
      show = enough
      end = done
    },
    refuseBody: (error: Error) => end(error),
  } as unknown as Exchange
  const arrive = (bytes: number) => {
    try {
      if (show(Buffer.alloc(bytes))) end()
    } catch (error) {
      end(error)
    }
  }
  return { exchange, arrive, finish: () => end() }
}

function setUp(limits: Partial<BodyLimits> = {}) {
  const clock = new FakeClock()
  const all = { limitBytes: 1_000, totalBytes: 1_500, addressBytes: 1_000, pressedBytesPerSecond: 100, ...limits }
  const budget = new BodyBudget(all, clock)
  const start = (address: string) => {
    const body = upload()
    const share = budget.share(address)
    const outcome: { reading?: unknown } = {}
    const next = () => void (outcome.reading = 'read')
    share.readUntil(
      body.exchange,
      () => false,
      next,
      (error) => (outcome.reading = error),
    )
    return { ...body, share, outcome }
  }
  return { clock, budget, start }
}

describe('BodyBudget', () => {
  it('counts what is here, not what was announced, and gives it back once', () => {
    const { budget, start } = setUp()
    const first = start('a')
    expect(budget.heldBytes).toBe(0)
    first.arrive(90)
    expect(budget.heldBytes).toBe(90)
    first.finish()
    expect(first.outcome.reading).toBe('read')
    expect(budget.heldBytes).toBe(90)
    first.share.release()
    first.share.release()
    expect([budget.heldBytes, budget.clients]).toEqual([0, 0])
  })

  it('counts a body that came whole', () => {
    const { budget } = setUp()
    const share = budget.share('a')
    const readBody = (_limit: number, look: (piece: Buffer) => void, done: Done) => {
      look(Buffer.alloc(70))
      done()
    }
    const exchange = { bodyArrived: true, readBody } as unknown as Exchange
    share.readWhole(
      exchange,
      () => {},
      () => {},
      () => {},
    )
    expect([budget.heldBytes, budget.clients]).toEqual([70, 0])
    share.release()
    expect(budget.heldBytes).toBe(0)
  })

  it('refuses the address that is over its share, and nobody else', () => {
    const { budget, start } = setUp({ addressBytes: 100 })
    const first = start('2001:db8::1')
    const second = start('2001:db8::2')
    const other = start('2001:db8:0:1::1')
    first.arrive(80)
    second.arrive(30)
    other.arrive(30)
    expect(second.outcome.reading).toMatchObject({ code: 'address_overloaded', status: 429 })
    expect([first.outcome, other.outcome]).toEqual([{}, {}])
    first.share.release()
    second.share.release()
    other.share.release()
    expect([budget.heldBytes, budget.clients]).toEqual([0, 0])
  })

  it('ends the slow that hold most before it refuses a newcomer', async () => {
    const { clock, budget, start } = setUp({ totalBytes: 1_000 })
    const [slow, slowAndSmall, steady] = [start('a'), start('b'), start('c')]
    slow.arrive(500)
    slowAndSmall.arrive(1)
    for (let second = 0; second < 10; second++) {
      steady.arrive(40)
      if (second < 4) steady.arrive(0)
      await clock.advance(400)
    }
    // Drips do not make it faster.
    slow.arrive(1)
    await clock.advance(2_000)
    const newcomer = start('d')
    newcomer.arrive(300)
    expect(slow.outcome.reading).toMatchObject({ code: 'body_too_slow', status: 408 })
    expect([slowAndSmall.outcome, steady.outcome, newcomer.outcome]).toEqual([{}, {}, {}])
    expect(budget.heldBytes).toBe(701)
    // What was ended is given back only once.
    slow.share.release()
    expect(budget.heldBytes).toBe(701)
  })

  it('refuses a newcomer where all others keep up', () => {
    const { budget, start } = setUp()
    start('a').arrive(900)
    start('b').arrive(500)
    const newcomer = start('c')
    newcomer.arrive(101)
    expect(newcomer.outcome.reading).toMatchObject({ code: 'gateway_overloaded', status: 503 })
    expect(budget.heldBytes).toBe(1_400)
  })

  it('tells of what fails after it was read', () => {
    const { budget } = setUp()
    const { exchange, finish } = upload()
    const failed = new Error('no such model')
    const heard: unknown[] = []
    const next = () => {
      throw failed
    }
    budget.share('a').readUntil(
      exchange,
      () => false,
      next,
      (error) => heard.push(error),
    )
    finish()
    expect(heard).toEqual([failed])
  })
})
