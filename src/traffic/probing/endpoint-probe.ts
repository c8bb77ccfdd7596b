import * as net from 'node:net'
import type { EndpointAddress } from '../endpoint-pool.ts'

/** Asks an endpoint whether it is healthy. Never throws; an aborted signal is a no. */
export type EndpointProbe = (address: EndpointAddress, path: string, signal: AbortSignal) => Promise<boolean>

const statusLine = /^HTTP\/1\.[01] (\d{3})/
/** The status line always fits in this many bytes. */
const longestStart = 32

/**
 * `GET` on a connection of its own, so that a stale one cannot answer for the server. A plain socket, because a model
 * that loads is asked a hundred times a second and only the status line matters.
 */
export const probeHealth: EndpointProbe = ({ host, port }, path, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve(false)
    let start = ''
    const socket = net.connect({ host, port, noDelay: true })
    const answer = (healthy: boolean) => {
      signal.removeEventListener('abort', onAbort)
      socket.destroy()
      resolve(healthy)
    }
    const onAbort = () => answer(false)
    signal.addEventListener('abort', onAbort, { once: true })
    socket.on('error', onAbort)
    socket.on('close', onAbort)
    socket.on('connect', () => {
      const authority = host.includes(':') ? `[${host}]` : host
      socket.write(`GET ${path} HTTP/1.1\r\nhost: ${authority}:${port}\r\nconnection: close\r\n\r\n`)
    })
    socket.on('data', (chunk: Buffer) => {
      start += chunk.toString('latin1', 0, longestStart)
      const status = statusLine.exec(start)?.[1]
      if (status !== undefined || start.length >= longestStart) answer(status?.startsWith('2') === true)
    })
  })
