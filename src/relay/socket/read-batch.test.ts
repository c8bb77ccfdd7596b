import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { ReadBatch } from './read-batch.ts'
import { OpenedEnds } from './socket-ends.fixture.ts'
import { SocketInput } from './socket-input.ts'
import { TurnClock } from './turn-clock.ts'

const clock = new TurnClock(systemClock)
const readBatch = new ReadBatch(clock)

const ends = new OpenedEnds()
afterEach(() => ends.clear())

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('what was read in one turn', () => {
  it('is handled at its end, in the order it came, at one time', async () => {
    const seen: Array<[string, number]> = []
    const reader = (name: string) => ({
      take: (chunk: Buffer) => void seen.push([name + chunk.toString(), clock.now()]),
    })
    const [one, other] = [reader('a'), reader('b')]
    readBatch.add('requests', one, Buffer.from('1'))
    readBatch.add('requests', other, Buffer.from('2'))
    readBatch.add('requests', one, Buffer.from('3'))
    expect(seen).toEqual([])
    await turn()
    expect(seen.map(([text]) => text)).toEqual(['a1', 'b2', 'a3'])
    expect(new Set(seen.map(([, at]) => at)).size).toBe(1)
  })

  it.each([
    ['many', 64, 1],
    ['large', 16, 65_536],
  ])('is handled at once when it is %s', (_what, count, bytes) => {
    let taken = 0
    const reader = { take: () => void taken++ }
    for (let read = 1; read < count; read++) readBatch.add('requests', reader, Buffer.alloc(bytes))
    expect(taken).toBe(0)
    readBatch.add('requests', reader, Buffer.alloc(bytes))
    expect(taken).toBe(count)
  })

  it('is handled with answers before requests', () => {
    const seen: string[] = []
    const reader = { take: (chunk: Buffer) => void seen.push(chunk.toString()) }
    readBatch.add('requests', reader, Buffer.from('request 1'))
    readBatch.add('answers', reader, Buffer.from('answer 1'))
    readBatch.add('requests', reader, Buffer.from('request 2'))
    readBatch.add('answers', reader, Buffer.from('answer 2'))
    readBatch.handle()
    expect(seen).toEqual(['answer 1', 'answer 2', 'request 1', 'request 2'])
  })

  it.each(['answers', 'requests'] as const)('is handled but for the one of the %s that fails', async (kind) => {
    const seen: string[] = []
    const good = { take: (chunk: Buffer) => void seen.push(chunk.toString()) }
    const bad = {
      take: () => {
        throw new Error('no')
      },
    }
    readBatch.add(kind, good, Buffer.from('1'))
    readBatch.add(kind, bad, Buffer.from('2'))
    readBatch.add(kind, good, Buffer.from('3'))
    readBatch.add('requests', good, Buffer.from('4'))
    expect(() => readBatch.handle()).toThrow('no')
    expect(seen).toEqual(['1'])
    await turn()
    expect(seen).toEqual(['1', '3', '4'])
  })
})

describe('a connection', () => {
  async function connection() {
    const input = new SocketInput(readBatch)
    const { accepted: socket, far } = await ends.open((accepted) => input.accept(accepted))
    return { input, socket, far }
  }

  it('has heard what it received before it hears of the end', async () => {
    const { input, socket, far } = await connection()
    const heard: string[] = []
    input.listen(socket, (chunk) => heard.push(chunk.toString()))
    socket.on('end', () => heard.push('end'))
    far.end('last words')
    await once(socket, 'end')
    expect(heard).toEqual(['last words', 'end'])
  })

  it('that another one closed in the meantime gets nothing more', async () => {
    const [one, other] = [await connection(), await connection()]
    const heard: string[] = []
    one.input.listen(one.socket, () => {
      heard.push('one')
      other.socket.destroy()
    })
    other.input.listen(other.socket, () => heard.push('other'))
    readBatch.add('requests', one.input, Buffer.from('1'))
    readBatch.add('requests', other.input, Buffer.from('2'))
    await turn()
    expect(heard).toEqual(['one'])
  })
})
