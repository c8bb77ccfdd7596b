import * as http from 'node:http'
import * as net from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { probeHealth } from './endpoint-probe.ts'

async function listening(server: net.Server): Promise<{ host: string; port: number }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  return { host: '127.0.0.1', port: typeof address === 'object' && address ? address.port : 0 }
}

const answering = (status: number) =>
  listening(http.createServer(({ url }, response) => response.writeHead(url === '/health' ? status : 404).end('body')))
const saying = (text: string) => listening(net.createServer((socket) => socket.on('error', () => {}).end(text)))
const never = new AbortController().signal

describe('probeHealth', () => {
  it.each([
    [200, true],
    [204, true],
    [503, false],
    [404, false],
  ])('takes %i for healthy: %s', async (status, healthy) => {
    expect(await probeHealth(await answering(status), '/health', never)).toBe(healthy)
  })

  it.each(['', 'HTTP/1.1 ', 'SSH-2.0-OpenSSH_9.2 and a long banner that goes on'])(
    'takes a server that says "%s" for unhealthy',
    async (text) => {
      expect(await probeHealth(await saying(text), '/health', never)).toBe(false)
    },
  )

  it('is a no where nothing listens, and where the answer does not come in time', async () => {
    const silent = net.createServer((socket) => socket.on('error', () => {}))
    const address = await listening(silent)
    const deadline = new AbortController()
    const asked = probeHealth(address, '/health', deadline.signal)
    silent.once('connection', () => deadline.abort())
    expect(await asked).toBe(false)
    expect(await probeHealth(address, '/health', deadline.signal)).toBe(false)
    expect(await probeHealth({ host: '127.0.0.1', port: 1 }, '/health', never)).toBe(false)
  })
})
