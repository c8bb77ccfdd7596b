import { createServer, type RequestListener, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { askHealth } from './ask-health.ts'

describe('asking a Pod how far it is', () => {
  let server: Server | undefined
  afterEach(() => {
    server?.closeAllConnections()
    server?.close()
  })

  async function answering(listener: RequestListener) {
    server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    return { host: '127.0.0.1', port, path: '/health?verbose' }
  }
  const signal = () => AbortSignal.timeout(10_000)

  it('reads what it answers, whatever its status', async () => {
    const address = await answering((request, response) => {
      response.writeHead(503).end(JSON.stringify({ asked: request.url, bytes: 5 }))
    })
    expect(await askHealth(address, signal())).toEqual({ asked: '/health?verbose', bytes: 5 })
  })

  it('takes an answer that is no JSON for none', async () => {
    const address = await answering((_request, response) => void response.end('OK'))
    expect(await askHealth(address, signal())).toBeUndefined()
  })

  it('reads no endless answer, waits for none, and finds nobody', async () => {
    const endless = await answering((_request, response) => {
      const write = () => {
        while (!response.destroyed && response.write('x'.repeat(4096)));
      }
      response.on('drain', write)
      write()
    })
    await expect(askHealth(endless, signal())).rejects.toThrow('too long')
    const stop = new AbortController()
    const silent = await answering(() => stop.abort(new Error('enough')))
    await expect(askHealth(silent, stop.signal)).rejects.toThrow('aborted')
    await expect(askHealth({ ...silent, port: 1 }, signal())).rejects.toThrow('ECONNREFUSED')
  })
})
