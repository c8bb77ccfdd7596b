import http from 'node:http'
import type { Socket } from 'node:net'

export interface Answer {
  readonly status: number
  readonly text: string
}

/** An answer whose text can be read while it comes. */
export interface ComingAnswer {
  readonly soFar: () => string
  readonly whole: Promise<Answer>
}

type Dial = (host: string, port: number) => Socket

const patienceMs = 240_000

/** Asks a gateway over a connection of its own, as new clients do; `dial` opens it where it is not an ordinary one. */
export function askModel(gateway: string, model: string, dial?: Dial): Promise<Answer> {
  return ask(gateway, { model }, () => {}, dial)
}

/** Asks for a stream, in which the gateway says what a client waits for. */
export function streamModel(gateway: string, model: string, dial?: Dial): ComingAnswer {
  let text = ''
  const whole = ask(gateway, { model, stream: true }, (part) => (text += part), dial)
  return { soFar: () => text, whole }
}

function ask(
  gateway: string,
  about: { readonly model: string; readonly stream?: boolean },
  onText: (part: string) => void,
  dial: Dial | undefined,
): Promise<Answer> {
  const { hostname, port } = new URL(gateway)
  const body = JSON.stringify({ ...about, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 2 })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), connection: 'close' }
  const connection =
    dial === undefined ? { agent: false as const } : { createConnection: () => dial(hostname, Number(port || 80)) }
  const signal = AbortSignal.timeout(patienceMs)
  return new Promise((resolve, reject) => {
    const request = http.request(
      `${gateway}/openai/v1/chat/completions`,
      { method: 'POST', headers, signal, ...connection },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part
          onText(part)
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
        response.on('error', reject)
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

/** Several clients who ask again as soon as they are answered. */
export class RequestLoad {
  readonly #ask: () => Promise<Answer>
  readonly #answers: Answer[] = []
  #clients: ReadonlyArray<Promise<void>> = []
  #stopping = false

  constructor(ask: () => Promise<Answer>) {
    this.#ask = ask
  }

  start(clients: number): void {
    this.#clients = Array.from({ length: clients }, () => this.#client())
  }

  /** How many were answered so far. */
  get answered(): number {
    return this.#answers.length
  }

  async stop(): Promise<readonly Answer[]> {
    this.#stopping = true
    await Promise.all(this.#clients)
    return this.#answers
  }

  async #client(): Promise<void> {
    while (!this.#stopping) {
      const failed = (error: unknown): Answer => ({ status: 0, text: String(error) })
      this.#answers.push(await this.#ask().catch(failed))
    }
  }
}
