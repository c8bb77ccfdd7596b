import { type RequestOptions, request } from 'node:https'
import type { WireObject } from './wire-object.ts'

export interface WireEvent {
  readonly type: string
  readonly object: WireObject
}

const deadlineMs = 20_000

/** The lines of one watch. A line that does not come in time fails the test instead of hanging it. */
export class WatchReader {
  readonly code: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly #lines: WireEvent[] = []
  readonly #stop: () => void
  #ended = false
  #wake = () => {}

  private constructor(
    code: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
    stop: () => void,
  ) {
    this.code = code
    this.headers = headers
    this.#stop = stop
  }

  static open(where: RequestOptions): Promise<WatchReader> {
    return new Promise((resolve, reject) => {
      const outgoing = request({ ...where, method: 'GET' }, (response) => {
        const reader = new WatchReader(response.statusCode ?? 0, response.headers, () => outgoing.destroy())
        let rest = ''
        response.setEncoding('utf8')
        response.on('data', (text: string) => {
          const lines = (rest + text).split('\n')
          rest = lines.pop() ?? ''
          for (const line of lines) if (line !== '') reader.#lines.push(JSON.parse(line) as WireEvent)
          reader.#wake()
        })
        const end = () => {
          reader.#ended = true
          reader.#wake()
        }
        response.on('error', end)
        response.on('close', end)
        resolve(reader)
      })
      outgoing.on('error', reject)
      outgoing.end()
    })
  }

  /** The next line, or undefined when the server has ended the watch. */
  async next(): Promise<WireEvent | undefined> {
    const overdue = new Error(`no line in ${deadlineMs / 1000} s`)
    while (this.#lines.length === 0 && !this.#ended) {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(overdue), deadlineMs)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    return this.#lines.shift()
  }

  /** The next lines as `TYPE name`, without bookmarks. */
  async take(count: number): Promise<string[]> {
    const seen: string[] = []
    while (seen.length < count) {
      const event = await this.next()
      if (!event) break
      if (event.type !== 'BOOKMARK')
        seen.push(`${event.type} ${event.object.metadata.name ?? String(event.object['code'])}`)
    }
    return seen
  }

  stop(): void {
    this.#stop()
  }
}
