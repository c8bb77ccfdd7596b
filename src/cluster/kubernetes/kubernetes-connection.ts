import type { KubeConfig } from '@kubernetes/client-node'
import { Agent as HttpAgent, type IncomingMessage, type RequestOptions, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { abortReason } from '../../foundation/clock.ts'
import { linkSignals } from '../../foundation/linked-signal.ts'
import { StatusError } from '../../resources/status-error.ts'
import { statusErrorOf } from './status-response.ts'

export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Relative to the server's address, already encoded. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  readonly contentType?: string
}

const usualDeadlineMs = 30_000
const largestAnswer = 256 * 1024 * 1024

/** HTTP to one API server, with the credentials and certificates of a kubeconfig. */
export class KubernetesConnection {
  readonly #config: KubeConfig
  readonly #server: URL
  readonly #proxied: boolean
  readonly #answerDeadlineMs: number
  readonly #agents = {
    http: new HttpAgent({ keepAlive: true, maxSockets: 64 }),
    https: new HttpsAgent({ keepAlive: true, maxSockets: 64 }),
  }

  constructor(config: KubeConfig, options: { readonly answerDeadlineMs?: number | undefined } = {}) {
    const cluster = config.getCurrentCluster()
    if (!cluster) throw new Error('the kubeconfig has no current cluster')
    this.#config = config
    this.#answerDeadlineMs = options.answerDeadlineMs ?? usualDeadlineMs
    this.#server = new URL(cluster.server)
    this.#proxied = Boolean(cluster.proxyUrl)
  }

  get server(): string {
    return this.#server.href.replace(/\/$/, '')
  }

  /** The parsed answer. Throws `StatusError` when the server refuses. */
  async json(request: WireRequest, signal?: AbortSignal): Promise<unknown> {
    const deadline = AbortSignal.timeout(this.#answerDeadlineMs)
    const either = linkSignals(signal, deadline)
    try {
      const response = await this.#send(request, either.signal)
      const body = await readJson(response)
      const code = response.statusCode ?? 0
      if (code >= 200 && code < 300) return body
      throw statusErrorOf(code, body)
    } catch (error) {
      if (signal?.aborted) throw abortReason(signal)
      if (!deadline.aborted) throw error
      const what = `${request.method} ${request.path}`
      throw new StatusError('Timeout', `${what}: no answer in ${this.#answerDeadlineMs / 1000} s`, {}, { cause: error })
    } finally {
      either.release()
    }
  }

  /** The bytes as they come, until the server ends them, the deadline passes or the signal is aborted. */
  async *stream(request: WireRequest, deadlineMs: number, signal: AbortSignal): AsyncGenerator<Buffer> {
    const deadline = AbortSignal.timeout(deadlineMs)
    const either = linkSignals(signal, deadline)
    try {
      const response = await this.#send(request, either.signal)
      const code = response.statusCode ?? 0
      if (code !== 200) throw statusErrorOf(code, await readJson(response))
      try {
        for await (const chunk of response) {
          if (Buffer.isBuffer(chunk)) yield chunk
        }
      } finally {
        response.destroy()
      }
    } catch (error) {
      if (signal.aborted || deadline.aborted) return
      throw error
    } finally {
      either.release()
    }
  }

  close(): void {
    this.#agents.http.destroy()
    this.#agents.https.destroy()
  }

  async #send({ method, path, query = {}, body, contentType }: WireRequest, signal: AbortSignal) {
    if (signal.aborted) throw abortReason(signal)
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const secure = this.#server.protocol === 'https:'
    const options: RequestOptions = {
      method,
      protocol: this.#server.protocol,
      host: this.#server.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: this.#server.port || (secure ? 443 : 80),
      path: this.#server.pathname.replace(/\/$/, '') + path + queryText(query),
      headers: {
        accept: 'application/json',
        ...(payload ? { 'content-type': contentType ?? 'application/json', 'content-length': payload.length } : {}),
      },
    }
    await this.#config.applyToHTTPSOptions(options)
    // The library's agent opens a connection for every request; it is only needed to go through a proxy.
    if (!this.#proxied) options.agent = secure ? this.#agents.https : this.#agents.http
    return new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = (secure ? httpsRequest : httpRequest)({ ...options, signal }, resolve)
      outgoing.on('error', reject)
      outgoing.on('socket', (socket) => socket.setKeepAlive(true, 30_000))
      outgoing.end(payload)
    })
  }
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
