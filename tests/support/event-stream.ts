import * as http from 'node:http'
import * as https from 'node:https'

/** The address, and further options of the connection. */
interface Place extends Omit<https.RequestOptions, 'headers'> {
  readonly headers?: Record<string, string>
}

/** A chat stream, as its client sees it. */
export class EventStream {
  readonly #request: http.ClientRequest
  readonly #heard: (lateMs: number) => void
  /** All text so far. */
  text = ''
  pieces = 0
  /** The longest time that a piece was under way. */
  longestMs = 0
  /** Resolves with how the stream ended. */
  readonly ended: Promise<'whole' | 'broken off'>

  /** `heard` is called for every piece with how long it was under way. */
  constructor(options: Place, model: string, pieces: number, heard: (lateMs: number) => void = () => {}) {
    this.#heard = heard
    const headers = { 'content-type': 'application/json', ...options.headers }
    const all = { path: '/openai/v1/chat/completions', method: 'POST', agent: false, ...options, headers }
    this.#request = options.protocol === 'https:' ? https.request(all) : http.request(all)
    this.ended = new Promise((resolve) => {
      this.#request.on('error', () => resolve('broken off'))
      this.#request.on('response', (response) => {
        response.setEncoding('utf8').on('data', (piece: string) => this.#hear(piece))
        response.on('error', () => {})
        response.on('close', () => resolve(this.text.endsWith('data: [DONE]\n\n') ? 'whole' : 'broken off'))
      })
    })
    const messages = [{ role: 'user', content: 'Hi' }]
    this.#request.end(JSON.stringify({ model, messages, stream: true, max_tokens: pieces }))
  }

  leave(): void {
    this.#request.destroy()
  }

  #hear(text: string): void {
    this.text += text
    for (const [, sentAt] of text.matchAll(/"sentAt":(\d+)\}/g)) {
      this.pieces++
      const lateMs = Date.now() - Number(sentAt)
      this.longestMs = Math.max(this.longestMs, lateMs)
      this.#heard(lateMs)
    }
  }
}
