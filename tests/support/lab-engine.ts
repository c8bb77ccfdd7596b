import { readFileSync, readdirSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

// An OpenAI-compatible server that shares nothing with ours: other flags, another port, another health path, the key as
// an argument. It counts the bytes of its weights instead of computing with them.

const { values } = parseArgs({
  options: {
    weights: { type: 'string' },
    as: { type: 'string' },
    listen: { type: 'string' },
    token: { type: 'string' },
    /** How many lines it writes before it has loaded. */
    lines: { type: 'string', default: '1' },
    /** Hangs while this file is there. */
    'hang-while': { type: 'string' },
    /** Loads for as long as this file is there, and says what is in it to whoever asks whether it is ready. */
    'load-as': { type: 'string' },
  },
})
const { weights = '', as = '', listen = '', token } = values
const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(listen) ?? []
let loadedBytes: number | undefined

function load(): void {
  for (let line = 1; line <= Number(values.lines); line++) console.log(`shard ${line} of ${values.lines}`)
  if (values['hang-while'] !== undefined && statSync(values['hang-while'], { throwIfNoEntry: false })) return
  loadedBytes = filesOf(weights).reduce((sum, file) => sum + statSync(file).size, 0)
  console.log('loaded')
}

/** A model is one file, or a folder of them. */
function filesOf(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path).map((name) => join(path, name))
}

function saidOfLoad(): object | undefined {
  const file = values['load-as']
  if (file === undefined || !statSync(file, { throwIfNoEntry: false })) return undefined
  return JSON.parse(readFileSync(file, 'utf8')) as object
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/up') {
    const said = saidOfLoad()
    if (said !== undefined) return answer(response, 503, said)
    return answer(response, loadedBytes === undefined ? 503 : 200, { bytes: loadedBytes })
  }
  if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
    return answer(response, 401, { error: { message: 'the token is wrong' } })
  }
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const asked = JSON.parse(Buffer.concat(parts).toString() || '{}') as { model?: string; input?: string }
  if (asked.model !== as) return answer(response, 404, { error: { message: `there is only ${as}` } })
  if (request.url === '/v1/embeddings') {
    const embedding = [...Buffer.from(asked.input ?? '')]
    return answer(response, 200, { object: 'list', model: as, data: [{ object: 'embedding', index: 0, embedding }] })
  }
  if (request.url !== '/v1/chat/completions') return answer(response, 404, { error: { message: 'no such path' } })
  const message = { role: 'assistant', content: `${loadedBytes} bytes, ${process.env['CARDS']} cards` }
  answer(response, 200, { object: 'chat.completion', model: as, choices: [{ index: 0, message }] })
}

createServer((request, response) => void handle(request, response)).listen(Number(port), host, load)
