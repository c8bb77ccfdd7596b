import type { Logger } from '../../foundation/log.ts'
import { keptBytes } from '../../relay/bytes/put-bytes.ts'
import { lineEnding, LineLog, type LogLine } from './log-line.ts'
import type { RequestRecord } from './request-record.ts'

/** What the lines of an endpoint's requests have in common, as bytes. */
interface CommonMembers {
  readonly method: string
  readonly route: string
  readonly model: string | undefined
  readonly status: number
  readonly bytes: Buffer
}

const mostEndpoints = 4_096
const names = {
  requestId: Buffer.from(',"requestId":"'),
  client: Buffer.from('","client":"'),
  firstByteMs: Buffer.from(',"firstByteMs":'),
  durationMs: Buffer.from(',"durationMs":'),
  bytes: Buffer.from(',"bytes":'),
}
const ending = lineEnding('request')

/**
 * The one line in the log that each request gets. All in it is a number, a name that was checked, or of our own making.
 * It remembers, for each of up to 4,096 endpoints, what its last line said of method, route, model, endpoint and status:
 * the next one mostly says the same, and to put that together takes as long as all the rest of a line.
 */
export class RequestLines {
  readonly #log: LineLog
  readonly #common = new Map<string, CommonMembers>()

  constructor(log: Logger) {
    this.#log = new LineLog(log)
  }

  write(record: RequestRecord, method: string, now: number): void {
    const line = this.#log.begin(levelOf(record), now)
    if (!line) return
    const { firstByteMs, key, usage, errorCode, attempts } = record
    line.bytes(names.requestId)
    line.text(record.requestId)
    line.bytes(names.client)
    line.text(record.client.address)
    line.bytes(this.#commonMembers(record, method))
    line.number(record.waitMs)
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

  #commonMembers(record: RequestRecord, method: string): Buffer {
    const { route, model, endpoint = '', status } = record
    const known = this.#common.get(endpoint)
    if (known?.status === status && known.route === route && known.model === model && known.method === method) {
      return known.bytes
    }
    let members = `","method":"${method}","route":"${route}"`
    if (model !== undefined) members += `,"model":"${model}"`
    if (endpoint !== '') members += `,"endpoint":"${endpoint}"`
    const bytes = keptBytes(`${members},"status":${status},"waitMs":`)
    if (this.#common.size >= mostEndpoints) this.#common.clear()
    this.#common.set(endpoint, { method, route, model, status, bytes })
    return bytes
  }
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
