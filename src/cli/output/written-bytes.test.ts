import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { tellWrittenBytes } from './written-bytes.ts'

function output(isTTY: boolean) {
  const lines: string[] = []
  return { lines, isTTY, columns: 80, write: (text: string) => lines.push(text) > 0 }
}

describe('how much is written', () => {
  it('is told at a terminal when it is much, and leaves nothing behind', async () => {
    const clock = new FakeClock()
    const terminal = output(true)
    let bytes = 5e6
    const end = tellWrittenBytes('web.tar', clock, terminal, () => bytes)
    await clock.advance(500)
    expect(terminal.lines).toEqual([])
    bytes += 120e6
    await clock.advance(500)
    expect(terminal.lines.join('')).toContain('web.tar: 120 MB written')
    end()
    expect([terminal.lines.at(-1), clock.pendingTimers]).toEqual(['\r\u001b[K', 0])
  })

  it('is not told in a pipe', async () => {
    const clock = new FakeClock()
    const pipe = output(false)
    tellWrittenBytes('web.tar', clock, pipe, () => 1e9)()
    await clock.advance(5_000)
    expect(pipe.lines).toEqual([])
  })
})
