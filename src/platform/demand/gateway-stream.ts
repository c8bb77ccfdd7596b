import * as tls from 'node:tls'
import { jsonLines } from '../../cluster/kubernetes/json-lines.ts'
import { backoffMs } from '../../cluster/pace/backoff.ts'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import { type DemandFrame, longestFrameBytes, parseFrame, unheardMs } from './demand-frame.ts'
import { keyIdentity, keyedTls } from './demand-key.ts'

export interface GatewayAddress {
  readonly host: string
  readonly port: number
}

/** Opens a stream to a gateway, and yields what it tells until it ends. */
export type ListenToGateway = (address: GatewayAddress, signal: AbortSignal) => AsyncIterable<DemandFrame>

export interface GatewayStreamOptions {
  /** The name of the gateway's Pod. */
  readonly gateway: string
  readonly address: GatewayAddress
  readonly listen: ListenToGateway
  readonly onFrame: (frame: DemandFrame) => void
  /** Nothing is known about its demand from now on. */
  readonly onLost: () => void
  readonly clock: Clock
  readonly log: Logger
  readonly random?: () => number
}

const retryLimits = { firstMs: 50, longestMs: 5_000 }

/** Listens to one gateway until the signal is aborted, again and again. */
export async function followGateway(options: GatewayStreamOptions, signal: AbortSignal): Promise<void> {
  const { gateway, clock, log, random = Math.random } = options
  for (let failures = 1; !signal.aborted; failures += 1) {
    let isHeard = false
    const reason = await listenOnce(options, signal, () => (isHeard = true))
    if (signal.aborted) return
    if (isHeard) failures = 1
    if (isHeard || failures === 1) log.warn({ gateway, reason }, 'the demand of a gateway is not known')
    options.onLost()
    await clock.sleep(backoffMs(failures, random(), retryLimits), signal).catch(() => {})
  }
}

/** Why it ended. */
async function listenOnce(options: GatewayStreamOptions, signal: AbortSignal, heard: () => void): Promise<string> {
  const { address, listen, onFrame, clock, gateway, log } = options
  const attempt = new AbortController()
  const end = () => attempt.abort(new Error('it stops'))
  signal.addEventListener('abort', end, { once: true })
  const silent = () => attempt.abort(new Error(`nothing was heard for ${unheardMs} ms`))
  let cancel = clock.after(unheardMs, silent)
  let isFirst = true
  try {
    for await (const frame of listen(address, attempt.signal)) {
      cancel()
      cancel = clock.after(unheardMs, silent)
      if (isFirst) log.info({ gateway }, 'the demand of a gateway is known')
      isFirst = false
      heard()
      onFrame(frame)
    }
    return 'the gateway ended the stream'
  } catch (error) {
    return errorMessage(attempt.signal.aborted ? attempt.signal.reason : error)
  } finally {
    cancel()
    signal.removeEventListener('abort', end)
  }
}

/** Listens over TLS with the key that both ends have. */
export function listenWithKey(key: () => Buffer | undefined): ListenToGateway {
  return async function* listen({ host, port }, signal) {
    const psk = key()
    if (!psk) throw new Error('there is no key yet')
    const socket = tls.connect({
      ...keyedTls,
      host,
      port,
      pskCallback: () => ({ psk, identity: keyIdentity }),
      // Whoever has the key is a gateway; there is no certificate to look at.
      checkServerIdentity: () => undefined,
    })
    const end = () => socket.destroy()
    signal.addEventListener('abort', end, { once: true })
    try {
      for await (const line of jsonLines(socket, longestFrameBytes)) yield parseFrame(line)
    } finally {
      signal.removeEventListener('abort', end)
      socket.destroy()
    }
  }
}
