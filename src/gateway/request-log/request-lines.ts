import type { Logger } from '../../foundation/log.ts'
import { keptBytes } from '../../relay/bytes/put-bytes.ts'
import { lineEnding, LineLog } from './log-line.ts'
import { writeRequestId } from './request-id.ts'
import type { RequestRecord } from './request-record.ts'

/**
 * The middle of a log line, which is mostly the same for all requests of an endpoint, as bytes. The last one of each
 * endpoint is remembered, for up to 4,096 endpoints: putting it together anew takes half as long as the whole line.
 */
interface SteadyMembers {
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
 * Writes the log line of each request. Its members are numbers, checked names, or our own texts, so nothing is escaped.
 */
export class RequestLines {
  readonly #log: LineLog
  readonly #steady = new Map<string, SteadyMembers>()

  constructor(log: Logger) {
    this.#log = new LineLog(log)
  }

  write(record: RequestRecord, method: string, now: number): void {
    const line = this.#log.begin(levelOf(record), now)
    if (!line) return
    const { firstByteMs, key, usage, errorCode, attempts } = record
    line.bytes(names.requestId)
    writeRequestId(record.idField, line)
    line.bytes(names.client)
    line.text(record.client.address)
    line.bytes(this.#steadyMembers(record, method))
    line.number(record.waitMs)
    if (firstByteMs !== undefined) {
      line.bytes(names.firstByteMs)
      line.number(firstByteMs)
    }
    line.bytes(names.durationMs)
    line.number(record.elapsedMs(now))
    line.bytes(names.bytes)
    line.number(record.bytes)
    if (key !== undefined) line.text(`,"key":"${key}"`)
    if (usage) line.text(`,"promptTokens":${usage.promptTokens},"completionTokens":${usage.completionTokens}`)
    if (errorCode !== undefined) line.text(`,"errorCode":"${errorCode}"`)
    if (attempts > 1) line.text(`,"attempts":${attempts}`)
    if (!record.complete) line.text(',"complete":false')
    line.end(ending)
  }

  #steadyMembers(record: RequestRecord, method: string): Buffer {
    const { route, model, endpoint, status } = record
    const known = this.#steady.get(endpoint ?? '')
    if (known?.status === status && known.route === route && known.model === model && known.method === method) {
      return known.bytes
    }
    let members = `","method":"${method}","route":"${route}"`
    if (model !== undefined) members += `,"model":"${model}"`
    if (endpoint !== undefined) members += `,"endpoint":"${endpoint}"`
    const bytes = keptBytes(`${members},"status":${status},"waitMs":`)
    if (this.#steady.size >= mostEndpoints) this.#steady.clear()
    this.#steady.set(endpoint ?? '', { method, route, model, status, bytes })
    return bytes
  }
}

/** What the gateway answers itself (health, metrics, the chat page) is logged only if it fails. */
function levelOf({ status, complete, model }: RequestRecord): 'debug' | 'info' | 'warn' {
  if (status >= 500 || !complete) return 'warn'
  return model === undefined && status < 400 ? 'debug' : 'info'
}
