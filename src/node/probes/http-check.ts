import { type RequestOptions, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { ProbeResult } from './probe-result.ts'
import { dialFailure } from './probe-failures.ts'

export interface HttpCheck {
  readonly secure: boolean
  readonly host: string
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** Go's client follows as many. */
const mostRedirects = 10

/** Requests a page, and follows redirects within the same host. Never throws: failures are results. */
export async function checkHttp(check: HttpCheck, signal: AbortSignal): Promise<ProbeResult> {
  let url = addressOf(check)
  for (let redirects = 0; ; redirects += 1) {
    const answer = await askOnce(url, check, signal)
    if ('failure' in answer) return { ok: false, message: answer.failure }
    const { code, location } = answer
    if (code >= 300 && code < 400) {
      const next = location === undefined ? undefined : URL.parse(location, url.href)
      if (next && next.hostname === url.hostname && isHttp(next)) {
        if (redirects >= mostRedirects - 1) {
          return { ok: false, message: `Get "${next.href}": stopped after ${mostRedirects} redirects` }
        }
        url = next
        continue
      }
      // The server answered, so it is alive; another host says nothing about it.
      return { ok: true, warning: 'Probe terminated redirects' }
    }
    return code >= 200 && code < 300
      ? { ok: true }
      : { ok: false, message: `HTTP probe failed with statuscode: ${code}` }
  }
}

type Answer = { readonly code: number; readonly location: string | undefined } | { readonly failure: string }

function askOnce(url: URL, { headers }: HttpCheck, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve) => {
    const failed = (error: unknown) => {
      const late = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
      const why = signal.aborted ? late : dialFailure(error, url.hostname, portIn(url))
      resolve({ failure: `Get "${url.href}": ${why}` })
    }
    try {
      const options: RequestOptions = {
        headers: { 'user-agent': 'kube-probe/1.34', accept: '*/*', ...headers },
        signal,
        agent: false,
      }
      const request =
        url.protocol === 'https:'
          ? httpsRequest(url, { ...options, rejectUnauthorized: false })
          : httpRequest(url, options)
      request.once('error', failed)
      request.once('response', (response) => {
        // The status is enough; reading the body would only delay the probe.
        response.once('error', () => {})
        request.destroy()
        resolve({ code: response.statusCode ?? 0, location: response.headers.location })
      })
      request.end()
    } catch (error) {
      failed(error)
    }
  })
}

/** The path may contain a query. */
function addressOf({ secure, host, port, path }: HttpCheck): URL {
  const base = `${secure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
  return URL.parse(base + (path.startsWith('/') ? path : `/${path}`)) ?? new URL(base)
}

function isHttp({ protocol }: URL): boolean {
  return protocol === 'http:' || protocol === 'https:'
}

function portIn({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}
