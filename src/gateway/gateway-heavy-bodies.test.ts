import * as net from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { measureAgain } from '../foundation/measure-again.fixture.ts'
import { postJson, startGateway, startUpstream } from './gateway.fixture.ts'

const chat = '/openai/v1/chat/completions'
const largest = 32 * 1024 * 1024
/** One as large as a body may be, and others beside it. */
const sizes = [largest, 2 * 1024 * 1024, 2 * 1024 * 1024, 2 * 1024 * 1024]
const allBytes = sizes.reduce((sum, bytes) => sum + bytes, 0)
const longestTurnMs = 250

function bodyOf(start: string, repeated: string, end: string, bytes = largest): Buffer {
  const count = Math.floor((bytes - start.length - end.length) / repeated.length)
  return Buffer.concat([Buffer.from(start), Buffer.alloc(count * repeated.length, repeated), Buffer.from(end)])
}

const kinds: ReadonlyArray<readonly [string, (bytes: number) => Buffer]> = [
  ['escapes', (bytes) => bodyOf('{"model":"nobody","messages":"', '\\u0041', '"}', bytes)],
  ['lists', (bytes) => bodyOf('{"m\\u006fdel":"nobody","x":[', `${'['.repeat(50)}${']'.repeat(50)},`, '0]}', bytes)],
  ['names', (bytes) => bodyOf('{"m\\u006fdel":"nobody",', '"k1":0,"k2":1,', '"end":0}', bytes)],
  ['lookalikes', (bytes) => bodyOf('{"model":"nobody","messages":"', 'mode ream', '"}', bytes)],
]

function send(port: number, body: Buffer) {
  const socket = net.connect({ port, host: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  const { promise: answered, resolve } = Promise.withResolvers<void>()
  const seen = { socket, text: '', answered }
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => {
    seen.text += text
    if (seen.text.endsWith('}')) resolve()
  })
  socket.on('error', () => {})
  socket.write(
    `POST ${chat} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  socket.write(body)
  return seen
}

/**
 * How much of the processor the longest turn of the event loop took, and the most memory between turns. The clock would
 * also count what other programs take.
 */
function watchTurns() {
  const seen = { longestMs: 0, mostBytes: 0 }
  let begun = process.threadCpuUsage()
  let next = setImmediate(turn)
  function turn(): void {
    const { user, system } = process.threadCpuUsage(begun)
    seen.longestMs = Math.max(seen.longestMs, (user + system) / 1_000)
    seen.mostBytes = Math.max(seen.mostBytes, heldBytes())
    begun = process.threadCpuUsage()
    next = setImmediate(turn)
  }
  const stop = () => {
    clearImmediate(next)
    return seen
  }
  return { stop }
}

function heldBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

describe('bodies as large as they may be, made to take long', () => {
  it.each(kinds)(
    'stop nobody else and take little more memory than their bytes: %s',
    async (_kind, make) => {
      const bodies = sizes.map(make)
      const { port } = await startGateway()
      const costOfAll = async () => {
        const before = heldBytes()
        const turns = watchTurns()
        const clients = bodies.map((body) => send(port, body))
        await Promise.all(clients.map(({ answered }) => answered))
        for (const { text } of clients) expect(text).toMatch(/^HTTP\/1\.1 404 [^]*"code":"model_not_found"/)
        const { longestMs, mostBytes } = turns.stop()
        return { longestMs, moreBytes: mostBytes - before }
      }
      const { longestMs, moreBytes } = await measureAgain(costOfAll, (cost) => cost.longestMs < longestTurnMs)
      expect(longestMs).toBeLessThan(longestTurnMs)
      expect(moreBytes).toBeLessThan(3 * allBytes)
    },
    60_000,
  )

  it('arrive at the model as they were sent, and are checked before one is woken', async () => {
    const upstream = await startUpstream((_request, response) => void response.end('{}'))
    const { url, port, addPod, pool } = await startGateway()
    const control = bodyOf('{"model":"tiny","messages":"', 'x', '\n"}').subarray()
    const asleep = send(port, control)
    await asleep.answered
    expect(asleep.text).toMatch(/^HTTP\/1\.1 400 [^]*it has an unexpected character at position/)
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 0 })
    addPod('one', upstream.port)
    const body = bodyOf('{"messages":"', 'She said \\"model\\". ', '","m\\u006fdel":"tiny"}')
    expect((await postJson(url + chat, body.toString())).status).toBe(200)
    expect(upstream.received[0]?.body.equals(body)).toBe(true)
  })

  it('are refused when they are nested too deep', async () => {
    const { url } = await startGateway()
    const response = await postJson(url + chat, `{"model":"tiny","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_json', message: expect.stringContaining('nested deeper than 1000') },
    })
  })
})
