import type { Clock } from '../../foundation/clock.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { HttpExchange } from '../http/http-exchange.ts'
import type { ContainerStreams, ExitResult } from '../pods/pod-access.ts'
import { channelProtocols } from './channel-streams.ts'
import { exitStatus, failureStatus } from './remote-status.ts'
import type { RemoteSession, WantedStreams } from './remote-session.ts'
import { spdyHandshake } from './spdy/spdy-handshake.ts'
import { spdySession } from './spdy/spdy-session.ts'
import { agreedProtocol, handshakeHeaders } from './websocket/websocket-handshake.ts'
import { webSocketSession } from './websocket/websocket-session.ts'

export interface StreamTimes {
  readonly clock: Clock
  /** How long a connection may stay open without traffic. */
  readonly idleMs: number
}

export type RunCommand = (streams: ContainerStreams, signal: AbortSignal) => Promise<ExitResult>

/** How long a client may take to read the rest and close the connection. */
const finishMs = 15 * 60_000
const stopMs = 1_000

/**
 * Connects the client with a program and reports how it ended. Until the connection is upgraded, a refusal can be
 * thrown.
 */
export async function runRemoteCommand(
  exchange: HttpExchange,
  wanted: WantedStreams,
  run: RunCommand,
  times: StreamTimes,
): Promise<void> {
  const session = await openSession(exchange, wanted, times)
  if (session) await converse(session, run, exchange.stopping, times.clock)
}

async function openSession(
  exchange: HttpExchange,
  wanted: WantedStreams,
  times: StreamTimes,
): Promise<RemoteSession | undefined> {
  const { request, upgrade } = exchange
  if (!upgrade) throw upgradeRequired()
  if (upgrade.protocol === 'websocket') {
    const protocol = agreedProtocol(request, channelProtocols)
    return webSocketSession(exchange.switchTo(handshakeHeaders(request, protocol)), protocol, wanted, times)
  }
  return spdySession(exchange.switchTo(spdyHandshake(exchange, ['v4.channel.k8s.io'])), wanted, times)
}

async function converse(session: RemoteSession, run: RunCommand, stopping: AbortSignal, clock: Clock): Promise<void> {
  let cancel = () => {}
  const stop = () => {
    cancel()
    cancel = clock.after(stopMs, () => session.destroy())
  }
  stopping.addEventListener('abort', stop, { once: true })
  try {
    const status = await statusOf(run, session, AbortSignal.any([session.left, stopping]))
    if (!stopping.aborted) cancel = clock.after(finishMs, () => session.destroy())
    await session.sendStatus(stopping.aborted ? failureStatus(new Error('the server is stopping')) : status)
    session.close(stopping.aborted ? 1001 : 1000, stopping.aborted ? 'the server is stopping' : '')
    await session.closed
  } finally {
    stopping.removeEventListener('abort', stop)
    cancel()
  }
}

async function statusOf(run: RunCommand, session: RemoteSession, signal: AbortSignal): Promise<unknown> {
  try {
    return exitStatus(await run(session.streams, signal))
  } catch (error) {
    // A refusal by the node: reported as if it had come before the connection was made, as it does in Kubernetes.
    return failureStatus(error, error instanceof StatusError ? 'unable to upgrade connection: ' : '')
  }
}

export function upgradeRequired(): StatusError {
  return new StatusError('BadRequest', 'Upgrade request required')
}
