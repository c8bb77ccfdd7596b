import { describe, expect, it } from 'vitest'
import { SlicedJson } from './sliced-json.ts'
import { TurnWork } from './turn-work.ts'

/** Every look at the clock is a millisecond later. */
function slowWork() {
  let now = 0
  return new TurnWork(() => now++)
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('TurnWork', () => {
  it('does a few parts in a turn, of each task in its turn, and leaves the rest to the next', async () => {
    const work = slowWork()
    const done: string[] = []
    const task = (name: string, parts: number) => ({
      step: () => {
        done.push(name)
        return --parts > 0
      },
    })
    work.add(task('a', 6))
    work.add(task('b', 2))
    expect(done).toEqual([])
    await turn()
    expect(done).toEqual(['a', 'b', 'a'])
    while (done.length < 8) await turn()
    expect(done.join('')).toBe('ababaaaa')
    expect(work.turns).toBeGreaterThanOrEqual(3)
  })
})

describe('SlicedJson', () => {
  it.each([
    ['one piece', (bytes: Buffer) => [bytes]],
    ['pieces of a byte', (bytes: Buffer) => Array.from(bytes.keys(), (at) => bytes.subarray(at, at + 1))],
    ['pieces as they are read', (bytes: Buffer) => [bytes.subarray(0, 65_536), bytes.subarray(65_536)]],
  ])('scans no more than 64 KiB at a time, in %s', async (_how, cut) => {
    const work = slowWork()
    const json = new SlicedJson(work, { checksTexts: true })
    const bytes = Buffer.from(`{"model":"m","x":[${'[1],'.repeat(50_000)}0]}`)
    for (const piece of cut(bytes)) json.push(piece)
    const scanner = await json.finish()
    expect(scanner.model).toBe('m')
    expect(work.steps).toBeGreaterThanOrEqual(Math.ceil(bytes.length / 65_536))
    expect(work.turns).toBeGreaterThan(1)
  })

  it('tells early what cannot be JSON, and to who waits for the end', async () => {
    const json = new SlicedJson(new TurnWork(), { checksTexts: true })
    json.push(Buffer.from('{"a":}'))
    while (!json.failure) await turn()
    expect(json.failure).toMatchObject({ code: 'invalid_json' })
    await expect(json.finish()).rejects.toMatchObject({ code: 'invalid_json' })
  })
})
