import type * as http from 'node:http'
import * as net from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startGateway, startUpstream, until } from './gateway.fixture.ts'

const body = JSON.stringify({ model: 'tiny', stream: true, messages: [{ role: 'user', content: 'Hi' }] })
const request =
  'POST /openai/v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n' +
  `content-length: ${body.length}\r\n\r\n${body}`
const pieceOf = (index: number) => `data: {"n":${index}}\n\n`

/** A model that sends the first event at once and the others when it is told to. */
async function startStreams() {
  const streams: http.ServerResponse[] = []
  const { port } = await startUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(pieceOf(0))
    streams.push(response)
  })
  return { port, streams }
}

function openStream(port: number) {
  const socket = net.connect({ port, host: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  const send = () => void socket.write(request)
  const seen = { send, text: '', closed: false, error: '' }
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => (seen.text += text))
  socket.on('error', (error) => (seen.error = String(error)))
  socket.on('close', () => (seen.closed = true))
  send()
  return seen
}

/** Events without their frames: how the chunks are cut is not what matters here. */
const eventsOf = (text: string) => text.match(/data: .*\n\n/g) ?? []

describe('a gateway that is told to stop while streams are live', () => {
  it('lets those that finish within the grace arrive whole, closes them, and is done before the grace is over', async () => {
    const model = await startStreams()
    const { port, url, addPod, gateway, pool, requestLines } = await startGateway()
    addPod('one', model.port)
    const clients = Array.from({ length: 20 }, () => openStream(port))
    await until(() => clients.every(({ text }) => text.includes(pieceOf(0))))

    let stopped = false
    const stopping = gateway.close({ graceMs: 600_000 }).then(() => (stopped = true))
    await expect(fetch(`${url}/healthz`)).rejects.toThrow('fetch failed')
    for (let index = 1; index <= 50; index++) for (const stream of model.streams) stream.write(pieceOf(index))
    await until(() => clients.every(({ text }) => text.includes(pieceOf(50))))
    expect([stopped, clients.some(({ closed }) => closed)]).toEqual([false, false])
    for (const stream of model.streams) stream.end('data: [DONE]\n\n')

    await stopping
    await until(() => clients.every(({ closed }) => closed))
    const whole = [...Array.from({ length: 51 }, (_, index) => pieceOf(index)), 'data: [DONE]\n\n']
    for (const { text, error } of clients) {
      expect(eventsOf(text)).toEqual(whole)
      expect(text.endsWith('\r\n0\r\n\r\n')).toBe(true)
      expect(error).toBe('')
    }
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 0 })
    expect(requestLines().map(({ status, complete = true }) => [status, complete])).toEqual(
      clients.map(() => [200, true]),
    )
  })

  it('takes no further request on a connection whose stream it lets finish', async () => {
    const model = await startStreams()
    const { port, addPod, gateway } = await startGateway()
    addPod('one', model.port)
    const client = openStream(port)
    await until(() => client.text.includes(pieceOf(0)))
    const stopping = gateway.close({ graceMs: 600_000 })
    client.send()
    for (let index = 1; index <= 50; index++) model.streams[0]?.write(pieceOf(index))
    await until(() => client.text.includes(pieceOf(50)))
    model.streams[0]?.end('data: [DONE]\n\n')
    await stopping
    await until(() => client.closed)
    expect(eventsOf(client.text).at(-1)).toBe('data: [DONE]\n\n')
    expect(client.text.match(/HTTP\/1\.1/g)).toHaveLength(1)
    expect(model.streams).toHaveLength(1)
  })
})
