import type { Duplex } from 'node:stream'
import type { Pod } from '../../resources/pod.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { HttpExchange } from '../http/http-exchange.ts'
import { ChannelStreams } from './channel-streams.ts'
import { type ForwardedConnection, forwardConnection } from './forwarded-connection.ts'
import { IdleTimer } from './idle-timer.ts'
import { PortForwardPairs, readPort } from './port-forward-pairs.ts'
import { type StreamTimes, upgradeRequired } from './remote-command.ts'
import { SpdyConnection } from './spdy/spdy-connection.ts'
import { spdyHandshake } from './spdy/spdy-handshake.ts'
import { WebSocketConnection } from './websocket/websocket-connection.ts'
import { agreedProtocol, handshakeHeaders } from './websocket/websocket-handshake.ts'
import { tunnelThrough } from './websocket/websocket-tunnel.ts'

const spdyProtocol = 'portforward.k8s.io'
const tunnelProtocol = `SPDY/3.1+${spdyProtocol}`
const webSocketProtocols = [tunnelProtocol, 'v4.channel.k8s.io', 'v4.base64.channel.k8s.io'] as const
const stopMs = 1_000
/** The most ports over one connection; a client that needs more can open several. */
const mostPorts = 100

export interface PortForwardRequest {
  readonly exchange: HttpExchange
  readonly pod: Pod
  readonly ports: readonly number[]
  readonly connect: (port: number, signal: AbortSignal) => Promise<Duplex>
}

/** `kubectl port-forward`: connections to ports of a Pod, all over one connection to the API server. */
export async function forwardPorts(request: PortForwardRequest, times: StreamTimes): Promise<void> {
  const { exchange } = request
  const { upgrade, stopping } = exchange
  if (!upgrade) throw upgradeRequired()
  if (upgrade.protocol === 'spdy/3.1') {
    const socket = exchange.switchTo(spdyHandshake(exchange, [spdyProtocol]))
    return forwardOverSpdy(request, socket, () => {}, times)
  }
  const protocol = agreedProtocol(exchange.request, webSocketProtocols)
  if (protocol !== tunnelProtocol && request.ports.length === 0) {
    throw new StatusError('BadRequest', 'query parameter "ports" is required')
  }
  const connection = new WebSocketConnection(
    exchange.switchTo(handshakeHeaders(exchange.request, protocol)),
    times.clock,
  )
  const hangUp = () => connection.hangUp(1001, 'the server is stopping')
  stopping.addEventListener('abort', hangUp, { once: true })
  try {
    if (protocol === tunnelProtocol) await forwardOverSpdy(request, tunnelThrough(connection), hangUp, times)
    else await forwardOverChannels(request, connection, protocol, times)
  } finally {
    stopping.removeEventListener('abort', hangUp)
  }
}

async function forwardOverSpdy(
  request: PortForwardRequest,
  transport: Duplex,
  hangUp: () => void,
  { clock, idleMs }: StreamTimes,
): Promise<void> {
  const { stopping } = request.exchange
  const pairs = new PortForwardPairs(clock, ({ port, data, error }) => {
    void forwardConnection(forwarded(request, port, { data, error }, connection.left))
  })
  const idle = new IdleTimer(clock, idleMs, () => connection.destroy())
  const connection = new SpdyConnection(transport, {
    clock,
    touch: () => idle.touch(),
    accept: (stream, headers, id) => pairs.add(stream, headers, id),
  })
  let cancel = () => {}
  const stop = () => {
    connection.close()
    hangUp()
    cancel = clock.after(stopMs, () => connection.destroy())
  }
  stopping.addEventListener('abort', stop, { once: true })
  try {
    await connection.receive()
  } finally {
    stopping.removeEventListener('abort', stop)
    cancel()
    idle.stop()
    pairs.close()
  }
}

/** Two channels for each port, one for data and one for errors; both begin with the port number. */
async function forwardOverChannels(
  request: PortForwardRequest,
  connection: WebSocketConnection,
  protocol: 'v4.channel.k8s.io' | 'v4.base64.channel.k8s.io',
  { clock, idleMs }: StreamTimes,
): Promise<void> {
  const idle = new IdleTimer(clock, idleMs, () => connection.hangUp(1001, 'nothing was said for too long'))
  const channels = new ChannelStreams(connection, protocol, () => idle.touch())
  const forwarding = request.ports.map((port, index) => {
    const data = channels.duplex(index * 2)
    const error = channels.output(index * 2 + 1)
    const number = Buffer.alloc(2)
    number.writeUInt16LE(port)
    data.write(number)
    error.write(number)
    return forwardConnection(forwarded(request, port, { data, error }, connection.left))
  })
  void Promise.all(forwarding).then(() => connection.hangUp(1000, ''))
  try {
    await channels.receive()
  } finally {
    idle.stop()
  }
}

function forwarded(
  { pod, connect }: PortForwardRequest,
  port: number,
  streams: Pick<ForwardedConnection, 'data' | 'error'>,
  left: AbortSignal,
): ForwardedConnection {
  const { name, uid = '' } = pod.metadata
  return { ...streams, pod: name, uid, port, connect: () => connect(port, left) }
}

/** The ports that the client names; only some protocols require it. */
export function readPorts(query: URLSearchParams): number[] {
  const asked = query.getAll('ports').flatMap((ports) => ports.split(','))
  if (asked.length > mostPorts)
    throw new StatusError('BadRequest', `at most ${mostPorts} ports can be forwarded at once`)
  return asked.map((text) => {
    const port = readPort(text)
    if (port !== undefined) return port
    const shown = JSON.stringify(text.slice(0, 16))
    throw new StatusError(
      'BadRequest',
      `cannot convert to []int32: strconv.ParseUint: parsing ${shown}: invalid syntax`,
    )
  })
}
