import { once } from 'node:events'
import { createSocket } from 'node:dgram'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { ListenInTime } from './listen-in-time.ts'
import { UdpFace } from './udp-face.ts'

describe('listening for names', () => {
  let clock: FakeClock
  let tries: number
  let problem: Error | undefined
  let told: string[]
  const start = async (listen: (address: string, port: number) => Promise<unknown>, port = 53) => {
    const options = { address: '127.0.0.1', port, clock, log: silentLogger, listen }
    const tell = ({ listens, message }: { listens: boolean; message: string }) => told.push(`${listens} ${message}`)
    const listening = new ListenInTime({ ...options, tell })
    await listening.start()
    return listening
  }
  const listen = async () => {
    tries += 1
    if (problem) throw problem
  }
  beforeEach(() => {
    clock = new FakeClock()
    tries = 0
    problem = undefined
    told = []
  })

  it('says nothing where it succeeds at once', async () => {
    await start(listen)
    await clock.advance(3_600_000)
    expect([tries, told]).toEqual([1, []])
  })

  it('is tried ever more rarely, says each reason once, and says when it has succeeded', async () => {
    problem = new Error('taken')
    await start(listen)
    await clock.advance(3_600_000)
    // An hour has sixty minutes; the shorter pauses at the beginning add a few attempts.
    expect(tries).toBeGreaterThan(30)
    expect(tries).toBeLessThan(150)
    expect(told).toEqual([
      'false Names of Services are not answered, because 127.0.0.1:53 cannot be listened on: taken',
    ])
    problem = undefined
    await clock.advance(120_000)
    expect(told.slice(1)).toEqual(['true Names of Services are answered at 127.0.0.1:53.'])
    const before = tries
    await clock.advance(3_600_000)
    expect(tries).toBe(before)
  })

  it('is over when it is closed', async () => {
    problem = new Error('taken')
    const listening = await start(listen)
    await listening.close()
    await clock.advance(3_600_000)
    expect(tries).toBe(1)
  })

  it('succeeds at a port that another program had when it was begun', async () => {
    const other = createSocket('udp4').bind(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address()
    const faces: UdpFace[] = []
    onTestFinished(async () => {
      for (const face of faces) await face.close()
    })
    const bind = async (address: string, at: number) => {
      const face = new UdpFace(address, { answer: () => undefined })
      faces.push(face)
      await face.listen(address, at)
    }
    await start(bind, port)
    expect(told).toEqual([expect.stringContaining('EADDRINUSE')])
    const closed = once(other, 'close')
    other.close()
    await closed
    await clock.advance(60_000)
    await expect.poll(() => told.length).toBe(2)
  })
})
