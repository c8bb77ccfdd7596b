import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { SluiceError } from '../../../foundation/errors.ts'
import { type Event, eventKind } from '../../../resources/event.ts'
import type { Pod } from '../../../resources/pod.ts'
import type { EventView } from '../console-shapes.ts'
import type { ConsoleWorld } from '../console-world.ts'
import { type ConsoleRequest, type ConsoleRoute, answered } from '../console-routes.ts'

/** How much of a log is shown before what is new. */
const tailLines = 500
const mostEvents = 200
const mostLogs = 50

/** What happened to a Pod or Model, and what a Pod writes. */
export function podReads(world: ConsoleWorld): readonly ConsoleRoute[] {
  const logs = new LogStreams(world)
  return [
    { method: 'GET', pattern: 'pods/:namespace/:pod/log', run: (asked) => logs.open(asked) },
    { method: 'GET', pattern: 'events/:kind/:namespace/:name', run: (asked) => eventsOf(world, asked) },
  ]
}

async function eventsOf(world: ConsoleWorld, { param, signal }: ConsoleRequest) {
  const namespace = param('namespace')
  const fields = { 'involvedObject.kind': param('kind'), 'involvedObject.name': param('name') }
  const { items } = await world.client.list(eventKind, { namespace, fields }, signal)
  return items
    .map(eventView)
    .sort((one, other) => (one.at < other.at ? 1 : -1))
    .slice(0, mostEvents)
}

function eventView({ metadata, type, reason, message, count, series, ...event }: Event): EventView {
  const at = series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? metadata.creationTimestamp ?? ''
  return {
    at,
    type: type ?? 'Normal',
    reason: reason ?? '',
    message: message ?? '',
    count: series?.count ?? count ?? 1,
  }
}

/** Logs that are being followed. */
class LogStreams {
  readonly #world: ConsoleWorld
  #open = 0

  constructor(world: ConsoleWorld) {
    this.#world = world
  }

  async open({ param, query, response, signal, keepOpen }: ConsoleRequest): Promise<typeof answered> {
    const { logs } = this.#world
    const pod = this.#podOf(param('namespace'), param('pod'))
    if (!logs) throw new SluiceError('console_action_unavailable', { reason: 'its logs cannot be read from here' })
    if (this.#open >= mostLogs) throw new SluiceError('console_busy')
    const container = query.get('container') ?? pod.spec.containers[0]?.name ?? ''
    const parts = logs(pod, { container, tailLines, follow: query.get('follow') !== 'false' }, signal)
    this.#open += 1
    keepOpen()
    try {
      await pass(parts, response, signal)
    } finally {
      this.#open -= 1
    }
    return answered
  }

  #podOf(namespace: string, name: string): Pod {
    const pod = this.#world.caches.pods.get({ namespace, name })
    if (!pod) throw new SluiceError('console_object_missing', { what: 'Pod', name: `${namespace}/${name}` })
    return pod
  }
}

/** The head is sent with the first part, so that a log that cannot be read is refused properly. */
async function pass(parts: AsyncIterable<Buffer>, response: ServerResponse, signal: AbortSignal): Promise<void> {
  const begin = () => {
    if (response.headersSent) return
    response.writeHead(200, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-accel-buffering': 'no',
    })
    response.flushHeaders()
  }
  for await (const part of parts) {
    begin()
    if (part.length > 0 && !response.write(part)) await once(response, 'drain', { signal })
  }
  begin()
  response.end()
}
