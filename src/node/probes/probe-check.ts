import { connect } from 'node:net'
import { errorMessage } from '../../foundation/errors.ts'
import type { Container, Probe } from '../../resources/pod.ts'
import { checkGrpcHealth } from './grpc-health.ts'
import { checkHttp } from './http-check.ts'
import { dialFailure, joined } from './probe-failures.ts'
import type { ProbeResult } from './probe-result.ts'
import { probeTiming } from './probe-state.ts'

/** Runs a command in the container; returns how it ended and the beginning of its output. */
export type RunInContainer = (
  words: readonly string[],
  signal: AbortSignal,
) => Promise<{ readonly exitCode: number; readonly output: string }>

/** Probes once. Never throws: failures are results. */
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
  if (probe.exec) return checkExec(probe.exec.command ?? [], run, probeTiming(probe).timeoutMs, signal)
  if (probe.grpc) {
    const { port, service = '' } = probe.grpc
    return checkGrpcHealth({ host: podIP, port, service, timeoutMs: probeTiming(probe).timeoutMs }, signal)
  }
  return Promise.resolve({ ok: false, message: 'the probe is none of httpGet, tcpSocket, exec and grpc' })
}

async function checkExec(
  words: readonly string[],
  run: RunInContainer,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const late = `command timed out: "${words.join(' ')}" timed out after ${timeoutMs / 1000}s`
  try {
    const { exitCode, output } = await run(words, signal)
    if (signal.aborted) return { ok: false, message: late }
    return exitCode === 0 ? { ok: true } : { ok: false, message: output || `command failed with exit code ${exitCode}` }
  } catch (error) {
    return { ok: false, message: signal.aborted ? late : errorMessage(error) }
  }
}

function checkTcp(host: string, port: number, signal: AbortSignal): Promise<ProbeResult> {
  return new Promise((resolve) => {
    const failed = (error: unknown) => {
      const late = `dial tcp ${joined(host, port)}: i/o timeout`
      resolve({ ok: false, message: signal.aborted ? late : dialFailure(error, host, port) })
    }
    try {
      const socket = connect({ host, port, signal })
      socket.once('connect', () => {
        socket.destroy()
        resolve({ ok: true })
      })
      socket.once('error', failed)
    } catch (error) {
      failed(error)
    }
  })
}

/** Resolves a port given by number, or by the name of one of the container's ports. */
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
