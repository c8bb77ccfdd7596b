import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { FedStream } from './fed-stream.ts'
import { PortForwardPairs, type StreamPair, readPort } from './port-forward-pairs.ts'

function open() {
  const clock = new FakeClock()
  const pairs: StreamPair[] = []
  const waiting = new PortForwardPairs(clock, (pair) => pairs.push(pair))
  let said = ''
  const write = (data: Buffer, done: () => void) => {
    said += data.toString()
    done()
  }
  const add = (headers: Record<string, string>, id = 1) => {
    const own = new FedStream({ write })
    return { own, added: waiting.add(own, new Map(Object.entries(headers)), id) }
  }
  return { clock, pairs, add, said: () => said }
}

describe('the two streams of a forwarded connection', () => {
  it('find each other by their request, whichever comes first', () => {
    const { pairs, add } = open()
    const error = add({ streamtype: 'error', port: '80', requestid: '0' })
    const otherData = add({ streamtype: 'data', port: '81', requestid: '1' })
    const data = add({ streamtype: 'data', port: '80', requestid: '0' })
    add({ streamtype: 'error', port: '81', requestid: '1' })
    expect(pairs.map(({ port }) => port)).toEqual([80, 81])
    expect(pairs[0]).toMatchObject({ data: data.own, error: error.own })
    expect(pairs[1]).toMatchObject({ data: otherData.own })
  })

  it('find each other by their numbers when old clients name no request', () => {
    const { pairs, add } = open()
    add({ streamtype: 'error', port: '80' }, 5)
    add({ streamtype: 'data', port: '80' }, 7)
    expect(pairs).toHaveLength(1)
  })

  it('are refused when they do not fit', () => {
    const { pairs, add } = open()
    add({ streamtype: 'error', port: '80', requestid: '0' })
    expect(add({ streamtype: 'error', port: '80', requestid: '0' }).added).toBe(false)
    expect(add({ streamtype: 'data', port: '81', requestid: '0' }).added).toBe(false)
    expect(add({ streamtype: 'stdin', port: '80', requestid: '1' }).added).toBe(false)
    expect(add({ streamtype: 'data', requestid: '1' }).added).toBe(false)
    expect(pairs).toEqual([])
  })

  it('do not wait for each other forever', async () => {
    const { clock, add, said } = open()
    add({ streamtype: 'error', port: '80', requestid: '0' })
    const { own } = add({ streamtype: 'data', port: '80', requestid: '1' })
    await clock.advance(30_000)
    expect(said()).toContain('timed out')
    expect(own.destroyed).toBe(true)
  })

  it.each(['0', '65536', '-1', '1e3', '', ' 80', '99999999'])('have no port %j', (text) => {
    expect(readPort(text)).toBeUndefined()
  })
})
