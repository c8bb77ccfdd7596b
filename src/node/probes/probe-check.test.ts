import { type RequestListener, createServer } from 'node:http'
import { type AddressInfo, createServer as createNetServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { Probe } from '../../resources/pod.ts'
import { type RunInContainer, checkProbe } from './probe-check.ts'

const closing: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const never = new AbortController().signal
const host = '127.0.0.1'

async function serving(answer: RequestListener): Promise<number> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  closing.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return portOf(server.address())
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

async function closedPort(): Promise<number> {
  const server = createNetServer()
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const port = portOf(server.address())
  await new Promise((resolve) => server.close(resolve))
  return port
}

const notRun: RunInContainer = () => Promise.reject(new Error('nothing is to be run'))
const look = (probe: Probe, run = notRun, signal = never) => checkProbe(probe, { name: 'main' }, host, run, signal)
const get = (port: number, path = '/') => ({ httpGet: { port, path } })

describe('an HTTP probe', () => {
  it.each([
    [200, { ok: true }],
    [399, { ok: true, warning: 'Probe terminated redirects' }],
    [400, { ok: false, message: 'HTTP probe failed with statuscode: 400' }],
    [503, { ok: false, message: 'HTTP probe failed with statuscode: 503' }],
  ])('that is answered with %i', async (code, result) => {
    const port = await serving((_request, response) => response.writeHead(code).end())
    expect(await look(get(port))).toEqual(result)
  })

  it('follows the server to another page of its own', async () => {
    const asked: string[] = []
    const port = await serving(({ url = '' }, response) => {
      asked.push(url)
      if (url === '/healthz?x=1') response.writeHead(500).end()
      else response.writeHead(302, { location: '/healthz?x=1' }).end()
    })
    expect(await look(get(port, '/start?a=b'))).toMatchObject({ message: 'HTTP probe failed with statuscode: 500' })
    expect(asked).toEqual(['/start?a=b', '/healthz?x=1'])
  })

  it('does not follow it to another host, nor for ever', async () => {
    const away = await serving((_request, response) => response.writeHead(302, { location: 'http://0.0.0.0/' }).end())
    expect(await look(get(away))).toEqual({ ok: true, warning: 'Probe terminated redirects' })
    let asked = 0
    const round = await serving((_request, response) => {
      asked += 1
      response.writeHead(302, { location: '/' }).end()
    })
    expect(await look(get(round))).toMatchObject({ ok: false })
    expect(asked).toBe(10)
  })

  it('says what kept it from an answer', async () => {
    const port = await closedPort()
    expect(await look(get(port, '/x'))).toEqual({
      ok: false,
      message: `Get "http://${host}:${port}/x": dial tcp ${host}:${port}: connect: connection refused`,
    })
    const deadline = new AbortController()
    const silent = await serving(() => deadline.abort())
    const late = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    expect(await look(get(silent), notRun, deadline.signal)).toEqual({
      ok: false,
      message: `Get "http://${host}:${silent}/": ${late}`,
    })
  })
})

describe('a TCP probe', () => {
  it('asks only whether somebody listens', async () => {
    expect(await look({ tcpSocket: { port: await serving(() => {}) } })).toEqual({ ok: true })
    const port = await closedPort()
    const message = `dial tcp ${host}:${port}: connect: connection refused`
    expect(await look({ tcpSocket: { port } })).toEqual({ ok: false, message })
  })
})

describe('a command as a probe', () => {
  const probe = { exec: { command: ['cat', '/tmp/health'] }, timeoutSeconds: 3 }
  const ending =
    (exitCode: number, output: string): RunInContainer =>
    async () => ({ exitCode, output })

  it('says what the command said', async () => {
    expect(await look(probe, ending(0, 'fine'))).toEqual({ ok: true })
    expect(await look(probe, ending(1, 'no such file'))).toEqual({ ok: false, message: 'no such file' })
    expect(await look(probe, ending(2, ''))).toEqual({ ok: false, message: 'command failed with exit code 2' })
  })

  it('says when it took too long', async () => {
    const message = 'command timed out: "cat /tmp/health" timed out after 3s'
    expect(await look(probe, ending(137, ''), AbortSignal.abort())).toEqual({ ok: false, message })
  })
})
