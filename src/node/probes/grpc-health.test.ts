import { type Server, createServer as createHttpServer } from 'node:http'
import { type Http2Server, type ServerHttp2Stream, createServer } from 'node:http2'
import { type AddressInfo, type Server as NetServer, type Socket, createServer as createNetServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { checkGrpcHealth } from './grpc-health.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

const never = new AbortController().signal

async function listening(server: Http2Server | Server | NetServer): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})))
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address: AddressInfo | string | null = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

interface Asked {
  readonly path: string | undefined
  readonly contentType: string | undefined
  readonly body: string
}

/** A server that answers every call in the same way, and what it was asked. */
async function serverThat(answer: (stream: ServerHttp2Stream) => void): Promise<{ port: number; asked: Asked[] }> {
  const asked: Asked[] = []
  const server = createServer()
  server.on('stream', (stream, headers) => {
    const chunks: Buffer[] = []
    stream.on('error', () => {})
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const body = Buffer.concat(chunks).toString('hex')
      asked.push({ path: headers[':path'], contentType: headers['content-type'], body })
      answer(stream)
    })
  })
  return { port: await listening(server), asked }
}

const grpcHeaders = { ':status': 200, 'content-type': 'application/grpc' }

/** Answers with a message, given in hexadecimal without its length, and a status. */
function answering(message: string, status = 0) {
  return (stream: ServerHttp2Stream) => {
    stream.respond(grpcHeaders, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }))
    const body = Buffer.from(message, 'hex')
    const head = Buffer.alloc(5)
    head.writeUInt32BE(body.length, 1)
    stream.end(Buffer.concat([head, body]))
  }
}

function check(port: number, service = '', signal = never) {
  return checkGrpcHealth({ host: '127.0.0.1', port, service, timeoutMs: 1000 }, signal)
}

describe('a gRPC health check', () => {
  it('asks for the service in the words of the protocol', async () => {
    const { port, asked } = await serverThat(answering('0801'))
    expect(await check(port)).toEqual({ ok: true })
    expect(await check(port, 'chat')).toEqual({ ok: true })
    const about = { path: '/grpc.health.v1.Health/Check', contentType: 'application/grpc' }
    expect(asked).toEqual([
      { ...about, body: '0000000000' },
      { ...about, body: '00000000060a0463686174' },
    ])
  })

  it.each([
    ['', 'UNKNOWN'],
    ['0802', 'NOT_SERVING'],
    ['0803', 'SERVICE_UNKNOWN'],
    ['0807', '7'],
    ['1a0161', 'UNKNOWN'],
    ['0b', 'UNKNOWN'],
  ])('takes the answer %j for unhealthy', async (message, status) => {
    const { port } = await serverThat(answering(message))
    expect(await check(port)).toEqual({ ok: false, message: `service unhealthy (responded with "${status}")` })
  })

  it('passes over what later versions add to an answer', async () => {
    const { port } = await serverThat(answering('1a03616263_25000000ff_0801_1002'.replaceAll('_', '')))
    expect(await check(port)).toEqual({ ok: true })
  })

  it('says that a server has no health service', async () => {
    const { port } = await serverThat((stream) => {
      const status = { 'grpc-status': 12, 'grpc-message': 'unknown service grpc.health.v1.Health%21' }
      stream.respond({ ...grpcHeaders, ...status }, { endStream: true })
    })
    expect(await check(port)).toEqual({
      ok: false,
      message:
        'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service grpc.health.v1.Health!',
    })
  })

  it('repeats what a server says when a call fails', async () => {
    const { port } = await serverThat((stream) =>
      stream.respond({ ...grpcHeaders, 'grpc-status': 5, 'grpc-message': '%zz' }, { endStream: true }),
    )
    const message = 'error: health rpc probe failed: rpc error: code = NotFound desc = %zz'
    expect(await check(port)).toEqual({ ok: false, message })
  })

  it('fails when nobody listens, saying where', async () => {
    const server = createNetServer()
    const port = await listening(server)
    await new Promise((resolve) => server.close(resolve))
    const result = await check(port)
    expect(result).toMatchObject({ ok: false })
    expect(JSON.stringify(result)).toContain(`failed to connect service at \\"127.0.0.1:${port}\\"`)
  })

  it.each<[string, () => Promise<number>]>([
    ['HTTP/1.1', () => listening(createHttpServer((_request, response) => response.end('hello')))],
    ['something that hangs up', () => listening(createNetServer((socket) => socket.destroy()))],
    ['something that says goodbye', async () => (await serverThat((stream) => stream.session?.destroy())).port],
    [
      'plain HTTP/2',
      async () => (await serverThat((stream) => stream.respond({ ':status': 200 }, { endStream: true }))).port,
    ],
    [
      'HTTP/2 with an error',
      async () => (await serverThat((stream) => stream.respond({ ':status': 503 }, { endStream: true }))).port,
    ],
    [
      'something that never ends',
      async () =>
        (
          await serverThat((stream) => {
            stream.respond(grpcHeaders)
            const pour = () => {
              while (!stream.destroyed && stream.write(Buffer.alloc(16_384)));
            }
            stream.on('drain', pour)
            pour()
          })
        ).port,
    ],
  ])('fails, and ends, at %s', async (_what, start) => {
    expect(await check(await start())).toMatchObject({ ok: false })
  })

  it('waits no longer than it may', async () => {
    const deadline = new AbortController()
    const { port } = await serverThat(() => deadline.abort())
    const message = 'timeout: health rpc did not complete within 1s'
    expect(await check(port, '', deadline.signal)).toEqual({ ok: false, message })
    expect(await check(port, '', AbortSignal.abort())).toMatchObject({ ok: false })
  })
})
