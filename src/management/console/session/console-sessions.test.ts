import { describe, expect, it } from 'vitest'
import { ConsoleSessions } from './console-sessions.ts'

const proof = { accessKey: 'a', digest: Buffer.alloc(32) }

function setUp(most = 3) {
  const time = { now: 1_000_000 }
  return { time, sessions: new ConsoleSessions(() => time.now, { idleMs: 1_000, longestMs: 5_000, most }) }
}

describe('ConsoleSessions', () => {
  it('finds a session by its token only, until it is closed', () => {
    const { sessions } = setUp()
    const { token } = sessions.open(proof)
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(sessions.find(token)?.proof).toBe(proof)
    expect(sessions.find(`${token.slice(1)}x`)).toBeUndefined()
    sessions.close(token)
    expect(sessions.find(token)).toBeUndefined()
  })

  it('ends one that nobody uses, and in the end each', () => {
    const { time, sessions } = setUp()
    const { token } = sessions.open(proof)
    for (let use = 0; use < 5; use += 1) {
      time.now += 900
      expect(sessions.find(token)).toBeDefined()
    }
    time.now += 900
    expect(sessions.find(token)).toBeUndefined()
    const other = sessions.open(proof)
    time.now += 1_000
    expect(sessions.find(other.token)).toBeUndefined()
    expect(sessions.size).toBe(0)
  })

  it('holds no more than its bound, and lets go of the one that was not used for longest', () => {
    const { sessions } = setUp(2)
    const [first, second] = [sessions.open(proof), sessions.open(proof)]
    sessions.find(first.token)
    sessions.open(proof)
    expect(sessions.size).toBe(2)
    expect(sessions.find(second.token)).toBeUndefined()
    expect(sessions.find(first.token)).toBeDefined()
  })
})
