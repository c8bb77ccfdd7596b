import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { errorMessage } from '../foundation/errors.ts'
import type { Container, Probe } from '../resources/pod.ts'

export type ProbeResult = { readonly ok: true } | { readonly ok: false; readonly message: string }

/** Looks once. Never throws: what goes wrong is the result. */
export function checkProbe(
  probe: Probe,
  container: Container,
  podIP: string,
  signal: AbortSignal,
): Promise<ProbeResult> {
  if (probe.httpGet) {
    const { path, port, host } = probe.httpGet
    const secure = probe.httpGet['scheme'] === 'HTTPS'
    return checkHttp(
      secure,
      host ?? podIP,
      portOf(port, container),
      path,
      headersOf(probe.httpGet['httpHeaders']),
      signal,
    )
  }
  if (probe.tcpSocket) return checkTcp(podIP, portOf(probe.tcpSocket.port, container), signal)
  return Promise.resolve({ ok: false, message: 'only httpGet and tcpSocket probes are supported' })
}

function checkHttp(
  secure: boolean,
  host: string,
  port: number,
  path: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<ProbeResult> {
  return new Promise((resolve) => {
    const failed = (error: unknown) => resolve({ ok: false, message: failureOf(error, signal) })
    try {
      const options = {
        host,
        port,
        path,
        headers: { 'user-agent': 'kube-probe/1.34', ...headers },
        signal,
        agent: false,
      }
      const request = secure ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options)
      request.once('error', failed)
      request.once('response', (response) => {
        // The status says it all; reading on would only keep the probe from ending.
        response.once('error', () => {})
        request.destroy()
        const code = response.statusCode ?? 0
        const ok = code >= 200 && code < 400
        resolve(ok ? { ok } : { ok, message: `HTTP probe failed with statuscode: ${code}` })
      })
      request.end()
    } catch (error) {
      failed(error)
    }
  })
}

function checkTcp(host: string, port: number, signal: AbortSignal): Promise<ProbeResult> {
  return new Promise((resolve) => {
    try {
      const socket = connect({ host, port, signal })
      socket.once('connect', () => {
        socket.destroy()
        resolve({ ok: true })
      })
      socket.once('error', (error) => resolve({ ok: false, message: failureOf(error, signal) }))
    } catch (error) {
      resolve({ ok: false, message: failureOf(error, signal) })
    }
  })
}

function failureOf(error: unknown, signal: AbortSignal): string {
  return signal.aborted ? 'the probe did not answer in time' : errorMessage(error)
}

/** A port by number, or by the name of one of the container's. */
function portOf(port: number | string, container: Container): number {
  if (typeof port === 'number') return port
  return container.ports?.find(({ name }) => name === port)?.containerPort ?? (Number(port) || 0)
}

function headersOf(list: unknown): Record<string, string> {
  if (!Array.isArray(list)) return {}
  const entries = list.flatMap((item: unknown) => {
    if (typeof item !== 'object' || item === null || !('name' in item) || !('value' in item)) return []
    return [[String(item.name), String(item.value)]]
  })
  return Object.fromEntries(entries)
}
