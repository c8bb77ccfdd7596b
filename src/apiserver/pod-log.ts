import { type Pod, podKind } from '../resources/pod.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { StatusError } from '../resources/status-error.ts'
import type { HttpExchange } from './http-exchange.ts'
import type { LogOptions, PodAccess } from './pod-access.ts'
import { readFlag, readSeconds } from './request-options.ts'

/** `GET pods/{name}/log`: the bytes of a container's log, as they come. */
export async function sendPodLog(
  exchange: HttpExchange,
  query: URLSearchParams,
  object: KubernetesObject,
  access: PodAccess,
  signal: AbortSignal,
): Promise<void> {
  const pod = podKind.schema.parse(object)
  const options = readLogOptions(query, pod)
  const chunks = access.logs(pod, options, signal)[Symbol.asyncIterator]()
  try {
    // The first piece decides between an answer and a refusal.
    let piece = await chunks.next()
    exchange.beginStream('text/plain; charset=utf-8')
    let sent = 0
    for (; piece.done !== true; piece = await chunks.next()) {
      const rest = options.limitBytes === undefined ? piece.value.length : options.limitBytes - sent
      const chunk = piece.value.subarray(0, rest)
      sent += chunk.length
      if (!(await exchange.write(chunk)) || chunk.length < piece.value.length) break
    }
    exchange.endStream()
  } finally {
    await chunks.return?.()
  }
}

export function readLogOptions(query: URLSearchParams, pod: Pod): LogOptions {
  return {
    container: containerOf(query.get('container') ?? '', pod),
    follow: readFlag(query, 'follow'),
    tailLines: readSeconds('tailLines', query.get('tailLines')),
    sinceSeconds: readSeconds('sinceSeconds', query.get('sinceSeconds')),
    limitBytes: readSeconds('limitBytes', query.get('limitBytes')),
    timestamps: readFlag(query, 'timestamps'),
    previous: readFlag(query, 'previous'),
  }
}

function containerOf(asked: string, { metadata, spec }: Pod): string {
  const names = [...(spec.initContainers ?? []), ...spec.containers].map(({ name }) => name)
  if (asked !== '' && !names.includes(asked)) {
    throw new StatusError('BadRequest', `container ${asked.slice(0, 63)} is not valid for pod ${metadata.name}`)
  }
  if (asked !== '') return asked
  const [only, another] = spec.containers
  if (only !== undefined && another === undefined) return only.name
  const choices = `choose one of: [${spec.containers.map(({ name }) => name).join(' ')}]`
  throw new StatusError('BadRequest', `a container name must be specified for pod ${metadata.name}, ${choices}`)
}
