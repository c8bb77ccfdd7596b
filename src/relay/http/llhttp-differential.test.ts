import { type IncomingMessage, createServer } from 'node:http'
import { Duplex } from 'node:stream'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defaultRelayLimits } from '../limits.ts'
import { type BodyDecoder, ChunkedDecoder, LengthDecoder, emptyBody } from './body-decoder.ts'
import { HeadReader } from './head-reader.ts'
import { type ParsedRequest, requestHeads } from './request-head.ts'

/** A message whose end was found. */
interface Message {
  readonly method: string
  readonly target: string
  readonly body: string
}

/** What our parser makes of a connection's bytes, until it refuses something or the connection would be closed. */
function readOurs(bytes: Buffer): Message[] {
  const messages: Message[] = []
  const reader = new HeadReader(defaultRelayLimits, requestHeads)
  let at = 0
  try {
    while (at < bytes.length) {
      at = reader.push(bytes, at)
      if (at < 0) return messages
      const request = reader.take()
      const decoder = decoderOf(request)
      const pieces: Buffer[] = []
      at = decoder.push(bytes, at, pieces)
      if (!decoder.done) return messages
      const { method, target } = request.head
      messages.push({ method, target, body: Buffer.concat(pieces).toString('latin1') })
      if (!request.facts.persistent) return messages
    }
  } catch {
    // Refused: what was accepted before counts.
  }
  return messages
}

function decoderOf({ facts }: ParsedRequest): BodyDecoder {
  if (facts.chunked) return new ChunkedDecoder(defaultRelayLimits)
  return facts.contentLength === undefined ? emptyBody : new LengthDecoder(facts.contentLength)
}

/** What Node's server (llhttp, strict) makes of the same bytes. */
async function readNodes(bytes: Buffer): Promise<Message[]> {
  const found: Array<{ request: IncomingMessage; pieces: Buffer[]; ended: boolean }> = []
  const server = createServer({ insecureHTTPParser: false, requireHostHeader: false }, (request, response) => {
    const entry = { request, pieces: [] as Buffer[], ended: false }
    found.push(entry)
    request.on('data', (piece: Buffer) => entry.pieces.push(piece))
    request.on('end', () => (entry.ended = true))
    request.on('error', () => {})
    response.end()
  })
  // Left open: destroying it now would take messages along that were already complete.
  server.on('clientError', () => {})
  const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done(), final: (done) => done() })
  socket.on('error', () => {})
  server.emit('connection', socket)
  socket.push(bytes)
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
  socket.destroy()
  return found
    .filter(({ ended }) => ended)
    .map(({ request, pieces }) => ({
      method: request.method ?? '',
      target: request.url ?? '',
      body: Buffer.concat(pieces).toString('latin1'),
    }))
}

const often = <T>(usual: T, ...rare: T[]) =>
  fc.oneof({ weight: 24, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(usual, ...rare) })

const lineEnd = often('\r\n', '\n', '\r', '\r\r\n', '\n\r', '\r\n\r\n', '')
const startLine = fc
  .tuple(
    fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom('GET', 'POST', 'PUT', 'OPTIONS') },
      fc.constantFrom('M-SEARCH', 'get', 'BREW', 'G T'),
    ),
    often(' ', '  ', '\t', ''),
    fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom('/', '/a?b=c', '/%41') },
      fc.constantFrom('*', 'a', '/\u00ff', '/#', '//', '/\u0001', 'http://b/c'),
    ),
    often(' ', '  ', '\t', ''),
    often('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/1.10', 'HTTP/11', 'http/1.1', 'HTTP/1.1 ', 'HTTP/1.9'),
  )
  .map((parts) => parts.join(''))

const trickyFields = [
  'Content-Length: 4',
  'Content-Length: 0',
  'Content-Length: 04',
  'Content-Length : 4',
  'Content-Length: 4, 4',
  'Content-Length: -1',
  'Content-Length: 4 ',
  'Content-Length: 4a',
  'Content-Length:\t4',
  'Content-Length: ',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: CHUNKED ',
  'Transfer-Encoding: x, chunked',
  'Transfer-Encoding: chunked, x',
  'Transfer-Encoding: chunkedx',
  'Transfer-Encoding:\u000bchunked',
  'transfer-encoding: identity',
  'Connection: close',
  'Connection: keep-alive',
  ' folded',
  '\tfolded',
  'X : y',
  ': y',
  'X',
  'X: \u0000',
  'X: \u007f',
  'X: \u00e9',
  'X\u0080: y',
]

const field = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('Host: a', 'X-A: b', 'x-b:c', 'Accept: */*', 'X-Long: a b\tc \t', 'X-Empty:'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...trickyFields),
  },
)

const chunk = fc
  .tuple(
    fc.constantFrom('GET ', 'abcd', '\r\n\r\n', '0\r\n\r'),
    often(
      '4',
      '04',
      '5',
      '3',
      '0x4',
      '4 ',
      ' 4',
      '4;a',
      '4;a=b',
      '4;a="b;\\"c"',
      '4;',
      '4;=',
      '4; a',
      '4;a="',
      'g',
      '-4',
      'ffffffffffffffff4',
    ),
    lineEnd,
    lineEnd,
  )
  .map(([data, size, first, second]) => `${size}${first}${data}${second}`)
const lastChunk = fc
  .tuple(
    often('0', '00', '0;a', '0 '),
    lineEnd,
    fc.oneof({ weight: 5, arbitrary: fc.constant('') }, fc.constantFrom('T: x\r\n', 'T : x\r\n', ' T: x\r\n', 'T\r\n')),
    lineEnd,
  )
  .map((parts) => parts.join(''))

const body = fc.oneof(
  fc.constant({ fields: [] as string[], text: '' }),
  fc.constantFrom('abcd', 'GET ', 'abc', 'abcde').map((text) => ({ fields: ['Content-Length: 4'], text })),
  fc.tuple(fc.array(chunk, { maxLength: 3 }), lastChunk).map(([chunks, last]) => ({
    fields: ['Transfer-Encoding: chunked'],
    text: chunks.join('') + last,
  })),
)

const message = fc
  .tuple(startLine, fc.array(fc.tuple(field, lineEnd), { maxLength: 4 }), body, lineEnd)
  .map(([start, fields, { fields: framing, text }, end]) => {
    const lines = ['Host: a', ...framing].map((line) => `${line}\r\n`).join('')
    return `${start}\r\n${lines}${fields.map((parts) => parts.join('')).join('')}${end}${text}`
  })

/** Now and then one byte is changed, lost or added. */
const connection = fc
  .tuple(
    fc.array(message, { minLength: 1, maxLength: 3 }),
    fc.option(
      fc.tuple(
        fc.nat(),
        fc.constantFrom('replace', 'remove', 'insert'),
        fc.constantFrom(0, 9, 10, 11, 13, 32, 58, 59, 127, 255),
      ),
      {
        freq: 2,
      },
    ),
  )
  .map(([messages, damage]) => {
    const bytes = [...Buffer.from(messages.join(''), 'latin1')]
    if (damage) {
      const [position, kind, byte] = damage
      const added = kind === 'remove' ? [] : [byte]
      bytes.splice(position % bytes.length, kind === 'insert' ? 0 : 1, ...added)
    }
    return Buffer.from(bytes)
  })

describe('against llhttp, strict', () => {
  it('accepts nothing that llhttp refuses and never disagrees where a message ends', async () => {
    let accepted = 0
    let runs = 0
    await fc.assert(
      fc.asyncProperty(connection, async (bytes) => {
        const ours = readOurs(bytes)
        const nodes = await readNodes(bytes)
        runs++
        accepted += ours.length
        expect(nodes.slice(0, ours.length).map(comparable)).toEqual(ours.map(comparable))
      }),
      { numRuns: 1_500, seed: 9112 },
    )
    // Otherwise the comparison would say nothing.
    expect(accepted).toBeGreaterThan(runs / 4)
  })
})

/** An absolute target is kept by Node and reduced to its path by us. */
function comparable({ method, target, body: text }: Message): Message {
  return { method, target: target.replace(/^https?:\/\/[^/?]*\/?/i, '/'), body: text }
}
