import * as http from 'node:http'
import type { EndpointAddress } from './endpoint-pool.ts'

/** Asks an endpoint whether it is healthy. Never throws; an aborted signal is a no. */
export type EndpointProbe = (address: EndpointAddress, signal: AbortSignal) => Promise<boolean>

/** `GET /health`, on a connection of its own so that a stale one cannot answer for the server. */
export const probeHealth: EndpointProbe = ({ host, port }, signal) =>
  new Promise((resolve) => {
    const request = http.get({ host, port, path: '/health', agent: false, signal }, (response) => {
      response.resume()
      const status = response.statusCode ?? 0
      resolve(status >= 200 && status < 300)
    })
    request.on('error', () => resolve(false))
  })
