import { describe, expect, it } from 'vitest'
import type { Exchange } from '../relay/exchange.ts'
import { HeaderList } from '../relay/header-list.ts'
import { BodyBudget } from './body-budget.ts'

/** Just enough of an exchange: a head and a body that arrives when the test says so. */
function upload(headers: ReadonlyArray<readonly [string, string]>) {
  const arrival = Promise.withResolvers<Buffer>()
  const head = { headers: HeaderList.of(headers) }
  const exchange = { head, arrivedBody: () => undefined, readBody: () => arrival.promise }
  return { exchange: exchange as unknown as Exchange, arrive: (bytes: number) => arrival.resolve(Buffer.alloc(bytes)) }
}

describe('BodyBudget', () => {
  it('counts an announced body before it arrives and gives it back once', async () => {
    const budget = new BodyBudget({ limitBytes: 100, totalBytes: 150 })
    const first = upload([['content-length', '90']])
    const share = budget.share()
    const reading = share.read(first.exchange)
    expect(budget.heldBytes).toBe(90)
    await expect(budget.share().read(upload([['content-length', '61']]).exchange)).rejects.toMatchObject({
      code: 'gateway_overloaded',
    })
    first.arrive(90)
    expect((await reading).length).toBe(90)
    share.release()
    share.release()
    expect(budget.heldBytes).toBe(0)
  })

  it('counts a body of unknown length by the limit until its length is known', async () => {
    const budget = new BodyBudget({ limitBytes: 100, totalBytes: 150 })
    const chunked = upload([['transfer-encoding', 'chunked']])
    const share = budget.share()
    const reading = share.read(chunked.exchange)
    expect(budget.heldBytes).toBe(100)
    chunked.arrive(10)
    await reading
    expect(budget.heldBytes).toBe(10)
  })

  it('counts of a body that streams only what is held of it', async () => {
    const budget = new BodyBudget({ limitBytes: 100, totalBytes: 150 })
    const pieces = (...sizes: number[]) =>
      ({
        readBodyUntil: async (_limit: number, enough: (piece: Buffer) => boolean) => {
          for (const size of sizes) if (enough(Buffer.alloc(size))) return
        },
      }) as unknown as Exchange
    let seen = 0
    await budget.share().readUntil(pieces(40, 50, 60), () => ++seen === 2)
    expect([seen, budget.heldBytes]).toEqual([2, 90])
    const overloaded = budget.share().readUntil(pieces(30, 40), () => false)
    await expect(overloaded).rejects.toMatchObject({ code: 'gateway_overloaded' })
  })

  it('counts nothing for a request without a body', async () => {
    const budget = new BodyBudget({ limitBytes: 100, totalBytes: 150 })
    const none = upload([])
    none.arrive(0)
    await budget.share().read(none.exchange)
    expect(budget.heldBytes).toBe(0)
  })
})
