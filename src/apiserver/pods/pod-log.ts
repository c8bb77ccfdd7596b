import type { Clock } from '../../foundation/clock.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { podKind } from '../../resources/pod.ts'
import type { HttpExchange } from '../http/http-exchange.ts'
import type { PodAccess } from './pod-access.ts'
import { podContainer } from './pod-container.ts'
import { readLogOptions } from './pod-log-options.ts'
import { logSocket, type LogSink } from '../streams/log-socket.ts'

export interface PodLogRequest {
  readonly exchange: HttpExchange
  readonly query: URLSearchParams
  readonly name: string
  readonly findPod: () => KubernetesObject
  readonly clock: Clock
}

/** `GET pods/{name}/log`: sends a container's log as it comes. */
export async function sendPodLog(request: PodLogRequest, access: PodAccess, signal: AbortSignal): Promise<void> {
  const { exchange, query, name } = request
  const options = readLogOptions(query, name)
  const pod = podKind.schema.parse(request.findPod())
  const container = podContainer(pod, query.get('container') ?? '')
  // The Pod is on no node yet, so there is no log.
  if (!pod.spec.nodeName) return exchange.sendNothing()
  const left = new AbortController()
  const until = AbortSignal.any([signal, left.signal])
  const chunks = access.logs(pod, { ...options, container }, until)[Symbol.asyncIterator]()
  try {
    // Whether there is a first piece or an error decides between an answer and a refusal.
    let piece = await chunks.next()
    const sink =
      exchange.upgrade?.protocol === 'websocket'
        ? logSocket(exchange, request.clock, () => left.abort())
        : plainLog(exchange)
    let sent = 0
    for (; piece.done !== true; piece = await chunks.next()) {
      const rest = options.limitBytes === undefined ? piece.value.length : options.limitBytes - sent
      const chunk = piece.value.subarray(0, rest)
      sent += chunk.length
      if (!(await sink.write(chunk)) || chunk.length < piece.value.length) break
    }
    sink.end()
  } finally {
    await chunks.return?.()
  }
}

function plainLog(exchange: HttpExchange): LogSink {
  exchange.beginStream('text/plain; charset=utf-8')
  return { write: (chunk) => exchange.write(chunk), end: () => exchange.endStream() }
}
