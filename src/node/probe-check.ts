import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { errorMessage } from '../foundation/errors.ts'
import type { Container, Probe } from '../resources/pod.ts'
import { checkGrpcHealth } from './grpc-health.ts'
import { probeTiming } from './probe-state.ts'

export type ProbeResult = { readonly ok: true } | { readonly ok: false; readonly message: string }

/** Runs a command beside the container's program and tells how it ended, and the beginning of what it said. */
export type RunInContainer = (
  words: readonly string[],
  signal: AbortSignal,
) => Promise<{ readonly exitCode: number; readonly output: string }>

/** Looks once. Never throws: what goes wrong is the result. */
export function checkProbe(
  probe: Probe,
  container: Container,
  podIP: string,
  run: RunInContainer,
  signal: AbortSignal,
): Promise<ProbeResult> {
  if (probe.httpGet) {
    const { path, port, host } = probe.httpGet
    const secure = probe.httpGet['scheme'] === 'HTTPS'
    const headers = headersOf(probe.httpGet['httpHeaders'])
    return checkHttp({ secure, host: host ?? podIP, port: portOf(port, container), path, headers }, signal)
  }
  if (probe.tcpSocket) return checkTcp(podIP, portOf(probe.tcpSocket.port, container), signal)
  if (probe.exec) return checkExec(probe.exec.command ?? [], run, signal)
  if (probe.grpc) {
    const { port, service = '' } = probe.grpc
    return checkGrpcHealth({ host: podIP, port, service, timeoutMs: probeTiming(probe).timeoutMs }, signal)
  }
  return Promise.resolve({ ok: false, message: 'the probe is none of httpGet, tcpSocket, exec and grpc' })
}

async function checkExec(words: readonly string[], run: RunInContainer, signal: AbortSignal): Promise<ProbeResult> {
  try {
    const { exitCode, output } = await run(words, signal)
    if (signal.aborted) return { ok: false, message: 'the probe did not answer in time' }
    return exitCode === 0 ? { ok: true } : { ok: false, message: `the command ended with ${exitCode}: ${output}` }
  } catch (error) {
    return { ok: false, message: failureOf(error, signal) }
  }
}

export interface HttpCheck {
  readonly secure: boolean
  readonly host: string
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

export function checkHttp({ secure, host, port, path, headers }: HttpCheck, signal: AbortSignal): Promise<ProbeResult> {
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
export function portOf(port: number | string, container: Container): number {
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
