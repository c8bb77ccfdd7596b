import type { Logger } from '../../foundation/log.ts'
import { lineEnding, LineLog, type LogLine } from './log-line.ts'
import type { RequestRecord } from './request-record.ts'

const names = {
  requestId: Buffer.from(',"requestId":"'),
  client: Buffer.from('","client":"'),
  method: Buffer.from('","method":"'),
  route: Buffer.from('","route":"'),
  model: Buffer.from('","model":"'),
  endpoint: Buffer.from('","endpoint":"'),
  status: Buffer.from('","status":'),
  waitMs: Buffer.from(',"waitMs":'),
  firstByteMs: Buffer.from(',"firstByteMs":'),
  durationMs: Buffer.from(',"durationMs":'),
  bytes: Buffer.from(',"bytes":'),
}
const ending = lineEnding('request')

/**
 * The one line in the log that each request gets. All in it is a number, a name that was checked, or of our own making.
 */
export class RequestLines {
  readonly #log: LineLog

  constructor(log: Logger) {
    this.#log = new LineLog(log)
  }

  write(record: RequestRecord, method: string, now: number): void {
    const line = this.#log.begin(levelOf(record), now)
    if (!line) return
    const { model, endpoint, firstByteMs, key, usage, errorCode, attempts } = record
    writeText(line, names.requestId, record.requestId)
    writeText(line, names.client, record.client.address)
    writeText(line, names.method, method)
    writeText(line, names.route, record.route)
    if (model !== undefined) writeText(line, names.model, model)
    if (endpoint !== undefined) writeText(line, names.endpoint, endpoint)
    writeNumber(line, names.status, record.status)
    writeNumber(line, names.waitMs, record.waitMs)
    if (firstByteMs !== undefined) writeNumber(line, names.firstByteMs, firstByteMs)
    writeNumber(line, names.durationMs, record.elapsedMs(now))
    writeNumber(line, names.bytes, record.bytes)
    if (key !== undefined) line.text(`,"key":"${key}"`)
    if (usage) line.text(`,"promptTokens":${usage.promptTokens},"completionTokens":${usage.completionTokens}`)
    if (errorCode !== undefined) line.text(`,"errorCode":"${errorCode}"`)
    if (attempts > 1) line.text(`,"attempts":${attempts}`)
    if (!record.complete) line.text(',"complete":false')
    line.end(ending)
  }
}

/** What follows begins with the quote that ends the text. */
function writeText(line: LogLine, name: Buffer, text: string): void {
  line.bytes(name)
  line.text(text)
}

function writeNumber(line: LogLine, name: Buffer, value: number): void {
  line.bytes(name)
  line.number(value)
}

/** What the gateway answers by itself (health, metrics, the chat page) is of interest only when it fails. */
function levelOf({ status, complete, model }: RequestRecord): 'debug' | 'info' | 'warn' {
  if (status >= 500 || !complete) return 'warn'
  return model === undefined && status < 400 ? 'debug' : 'info'
}
