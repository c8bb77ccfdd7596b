import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { setTimeout } from 'node:timers/promises'
import { type Clock, abortReason, systemClock } from '../../foundation/clock.ts'
import { linkSignals } from '../../foundation/linked-signal.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { ClusterAccess, RequestToServer } from './cluster-access.ts'
import { statusErrorOf } from './status-response.ts'

export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Relative to the server's address, already encoded. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** An answer whose body is read as it comes. */
export interface WireAnswer {
  readonly status: number
  readonly contentType: string
  readonly bytes: AsyncIterable<Uint8Array>
}

export interface ConnectionOptions {
  /** How long an answer may take, with all pauses that the server asks for. */
  readonly answerDeadlineMs?: number | undefined
  /** A stream that brings nothing for so long is taken for dead. Servers send a bookmark every minute. */
  readonly watchSilenceMs?: number | undefined
  /** Measures the silence of streams. */
  readonly clock?: Clock | undefined
}

const usualDeadlineMs = 30_000
const usualSilenceMs = 150_000
/** How often a request is sent again when the server asks to come back later. */
const mostAttempts = 10
const largestAnswer = 256 * 1024 * 1024

/** HTTP to one API server, with the credentials and certificates of a kubeconfig. */
export class KubernetesConnection {
  readonly #access: ClusterAccess
  readonly #server: URL
  readonly #answerDeadlineMs: number
  readonly #watchSilenceMs: number
  readonly #clock: Clock
  readonly #agents = {
    http: new HttpAgent({ keepAlive: true, maxSockets: 64 }),
    https: new HttpsAgent({ keepAlive: true, maxSockets: 64 }),
  }

  constructor(access: ClusterAccess, options: ConnectionOptions = {}) {
    this.#access = access
    this.#answerDeadlineMs = options.answerDeadlineMs ?? usualDeadlineMs
    this.#watchSilenceMs = options.watchSilenceMs ?? usualSilenceMs
    this.#clock = options.clock ?? systemClock
    this.#server = new URL(access.server)
  }

  get server(): string {
    return this.#server.href.replace(/\/$/, '')
  }

  /** The parsed answer. Throws `StatusError` when the server refuses. */
  async json(request: WireRequest, signal?: AbortSignal): Promise<unknown> {
    const deadline = AbortSignal.timeout(this.#answerDeadlineMs)
    const either = linkSignals(signal, deadline)
    try {
      return await this.#answer(request, either.signal)
    } catch (error) {
      if (signal?.aborted) throw abortReason(signal)
      if (!deadline.aborted) throw error
      const what = `${request.method} ${request.path}`
      throw new StatusError('Timeout', `${what}: no answer in ${this.#answerDeadlineMs / 1000} s`, {}, { cause: error })
    } finally {
      either.release()
    }
  }

  async #answer(request: WireRequest, signal: AbortSignal): Promise<unknown> {
    const givenUpAt = performance.now() + this.#answerDeadlineMs
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.#send(request, signal)
      const body = await readJson(response)
      const code = response.statusCode ?? 0
      if (code >= 200 && code < 300) return body
      const pauseMs = pauseAskedFor(response)
      const isLate = pauseMs === undefined || performance.now() + pauseMs >= givenUpAt
      if (isLate || attempt >= mostAttempts) throw refusal(response, body)
      await setTimeout(pauseMs, undefined, { signal })
    }
  }

  /**
   * The bytes as they come, until the server ends them, the deadline passes or the signal is aborted. One that brings
   * nothing for long is ended, too: a connection can be dead without anybody saying so.
   */
  async *stream(
    request: WireRequest,
    deadlineMs: number,
    signal: AbortSignal,
    silenceMs: number = this.#watchSilenceMs,
  ): AsyncGenerator<Buffer> {
    const deadline = AbortSignal.timeout(deadlineMs)
    const either = linkSignals(signal, deadline)
    const end = () => either.abort(new Error('nothing came for long'))
    let cancelEnd = this.#clock.after(silenceMs, end)
    try {
      const response = await this.#send(request, either.signal)
      if (response.statusCode !== 200) throw refusal(response, await readJson(response))
      try {
        for await (const chunk of response) {
          cancelEnd()
          cancelEnd = this.#clock.after(silenceMs, end)
          if (Buffer.isBuffer(chunk)) yield chunk
        }
      } finally {
        response.destroy()
      }
    } catch (error) {
      if (either.signal.aborted) return
      throw error
    } finally {
      cancelEnd()
      either.release()
    }
  }

  /** Whatever is answered, as it comes; ended by the signal only. */
  async open(request: WireRequest, signal: AbortSignal): Promise<WireAnswer> {
    const response = await this.#send(request, signal)
    return { status: response.statusCode ?? 0, contentType: response.headers['content-type'] ?? '', bytes: response }
  }

  close(): void {
    this.#agents.http.destroy()
    this.#agents.https.destroy()
  }

  async #send({ method, path, query = {}, body, contentType, headers }: WireRequest, signal: AbortSignal) {
    if (signal.aborted) throw abortReason(signal)
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const secure = this.#server.protocol === 'https:'
    const options: RequestToServer = {
      method,
      protocol: this.#server.protocol,
      host: this.#server.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: this.#server.port || (secure ? 443 : 80),
      path: this.#server.pathname.replace(/\/$/, '') + path + queryText(query),
      headers: {
        accept: 'application/json',
        ...(payload ? { 'content-type': contentType ?? 'application/json', 'content-length': payload.length } : {}),
        ...headers,
      },
    }
    await this.#access.apply(options)
    // An agent of Kubernetes' library opens a connection for every request; it is only needed to go through a proxy.
    if (!this.#access.proxied) options.agent = secure ? this.#agents.https : this.#agents.http
    return new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = (secure ? httpsRequest : httpRequest)({ ...options, signal }, resolve)
      outgoing.on('error', reject)
      outgoing.on('socket', (socket) => socket.setKeepAlive(true, 30_000))
      outgoing.end(payload)
    })
  }
}

/** A busy server says how long to wait; the request was not looked at. */
function pauseAskedFor({ statusCode, headers }: IncomingMessage): number | undefined {
  const seconds = headers['retry-after']
  const isBusy = statusCode === 429 || statusCode === 503
  return isBusy && seconds !== undefined && /^\d{1,5}$/.test(seconds) ? Number(seconds) * 1000 : undefined
}

function refusal(response: IncomingMessage, body: unknown): StatusError {
  const pauseMs = pauseAskedFor(response)
  return statusErrorOf(response.statusCode ?? 0, body, pauseMs === undefined ? undefined : pauseMs / 1000)
}

function queryText(query: Readonly<Record<string, string | undefined>>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, value)
  }
  return parameters.size === 0 ? '' : `?${parameters.toString()}`
}

/** The parsed body if it is JSON; otherwise its text, which a proxy may have written. */
async function readJson(response: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    if (!Buffer.isBuffer(chunk)) continue
    size += chunk.length
    if (size > largestAnswer) throw new Error(`the answer is larger than ${largestAnswer} bytes`)
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
