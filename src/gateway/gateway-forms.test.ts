import { createHash, randomBytes } from 'node:crypto'
import * as http from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { untilLeftUnread } from '../relay/socket/unread-bytes.fixture.ts'
import { startGateway, startUpstream, until } from './gateway.fixture.ts'

const path = '/openai/v1/audio/transcriptions'
const boundary = 'xyz'
const modelPart = `--${boundary}\r\ncontent-disposition: form-data; name="model"\r\n\r\ntiny\r\n`
const fileHead = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\ncontent-type: audio/wav\r\n\r\n`
const end = `\r\n--${boundary}--\r\n`
const limit = 256 * 1024

const digest = (...parts: ReadonlyArray<Buffer | string>) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

/** Counts and hashes what arrives as it arrives. */
async function startListener() {
  const seen = { bytes: 0, digest: '', requests: 0, endings: 0 }
  const hash = createHash('sha256')
  const upstream = await startUpstream(() => {})
  upstream.server.removeAllListeners('request')
  upstream.server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
    if (request.url === '/health') {
      response.end('ok')
      return
    }
    seen.requests++
    request.on('data', (piece: Buffer) => {
      seen.bytes += piece.length
      hash.update(piece)
    })
    request.on('end', () => {
      seen.endings++
      seen.digest = hash.copy().digest('hex')
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"text":"hello"}')
    })
    request.on('error', () => {})
  })
  return { ...upstream, seen }
}

function openUpload(url: string, length?: number) {
  const request = http.request(url + path, {
    method: 'POST',
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      ...(length === undefined ? {} : { 'content-length': String(length) }),
    },
  })
  onTestFinished(() => void request.destroy())
  const answer = new Promise<{ status: number; text: string }>((resolve, reject) => {
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (more: string) => (text += more))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
  })
  answer.catch(() => {})
  return { request, answer }
}

async function setUp() {
  const upstream = await startListener()
  const gateway = await startGateway({ gateway: { settings: { maxBodyBytes: limit } } })
  return { ...gateway, upstream, wake: () => gateway.addPod('one', upstream.port) }
}

describe('a form with a file', () => {
  it.each([
    ['with its length', true],
    ['in chunks', false],
  ])('streams on from its model %s, byte for byte and beyond what is held', async (_case, announced) => {
    const { url, upstream, wake } = await setUp()
    wake()
    const file = randomBytes(4 * limit)
    const length = modelPart.length + fileHead.length + file.length + end.length
    const { request, answer } = openUpload(url, announced ? length : undefined)
    request.write(modelPart + fileHead)
    request.write(file.subarray(0, 1_000))
    // The model's server has the beginning while the rest has not been sent.
    await until(() => upstream.seen.bytes === modelPart.length + fileHead.length + 1_000)
    request.write(file.subarray(1_000))
    request.end(end)
    expect(await answer).toEqual({ status: 200, text: '{"text":"hello"}' })
    expect(upstream.seen.digest).toBe(digest(modelPart, fileHead, file, end))
  })

  it('is read no further than its model while the model sleeps', async () => {
    const { url, upstream, wake, pool } = await setUp()
    const file = randomBytes(32 * 1024 * 1024)
    const { request, answer } = openUpload(url)
    let sent = 0
    request.write(modelPart + fileHead)
    for (let at = 0; at < file.length; at += 65_536) {
      request.write(file.subarray(at, at + 65_536), () => (sent += 65_536))
    }
    request.end(end)
    await until(() => pool.sample('tiny')?.waiting === 1)
    // What the sockets between hold is the system's business; that it stops growing is ours.
    if (!request.socket) throw new Error('the request has no connection')
    await untilLeftUnread(request.socket, () => sent)
    expect(sent).toBeLessThan(file.length / 2)
    wake()
    expect((await answer).status).toBe(200)
    expect(upstream.seen.digest).toBe(digest(modelPart, fileHead, file, end))
  })

  it('is held when its model comes last, up to the limit', async () => {
    const { url, upstream, wake } = await setUp()
    wake()
    const file = randomBytes(limit / 2)
    const small = openUpload(url)
    small.request.end(Buffer.concat([Buffer.from(fileHead), file, Buffer.from(`\r\n${modelPart.slice(0, -2)}${end}`)]))
    expect((await small.answer).status).toBe(200)
    expect(upstream.seen.digest).toBe(digest(fileHead, file, `\r\n${modelPart.slice(0, -2)}${end}`))
    const large = openUpload(url)
    large.request.write(Buffer.concat([Buffer.from(fileHead), randomBytes(2 * limit)]))
    const refused = await large.answer
    expect(refused.status).toBe(413)
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'body_too_large' } })
    expect(upstream.seen.requests).toBe(1)
  })

  it.each([
    ['a broken frame', `--${boundary}x`, 400, 'invalid_request'],
    ['no model', `${fileHead}abc${end}`, 400, 'model_required'],
    ['no end and no model', `${fileHead}abc`, 400, 'invalid_request'],
    ['an unknown model', `${modelPart.replace('tiny', 'nope')}${fileHead}abc${end}`, 404, 'model_not_found'],
  ])('is refused for %s', async (_case, body, status, code) => {
    const { url, wake } = await setUp()
    wake()
    const { request, answer } = openUpload(url)
    request.end(body)
    const { status: got, text } = await answer
    expect([got, JSON.parse(text)]).toMatchObject([status, { error: { code } }])
  })

  it('is sent to another endpoint only while all of it is held', async () => {
    const { url, upstream, wake, addPod, pods } = await setUp()
    const dying = await startUpstream(() => {})
    let reached = 0
    dying.server.removeAllListeners('request')
    dying.server.on('request', (request: http.IncomingMessage) => {
      reached++
      request.once('data', () => request.socket.destroy())
    })
    addPod('a-dying', dying.port)
    const whole = openUpload(url)
    const text = `${modelPart}${fileHead}abc${end}`
    whole.request.end(text)
    await until(() => reached === 1)
    wake()
    expect((await whole.answer).status).toBe(200)
    expect(upstream.seen.digest).toBe(digest(text))

    pods.remove({ namespace: 'sluice', name: 'one' })
    addPod('b-dying', dying.port)
    const partial = openUpload(url)
    partial.request.write(modelPart + fileHead + 'a')
    await until(() => reached === 2)
    wake()
    const answer = await partial.answer
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([502, { error: { code: 'upstream_failed' } }])
    expect(upstream.seen.requests).toBe(1)
  })

  it('that its client gives up is given up at the model’s server too', async () => {
    const { url, upstream, wake, pool } = await setUp()
    wake()
    const { request } = openUpload(url)
    request.write(modelPart + fileHead + 'abc')
    await until(() => upstream.seen.bytes > 0)
    request.destroy()
    await until(() => pool.sample('tiny')?.active === 0)
    expect(upstream.seen.endings).toBe(0)
  })
})
