import { errorMessage } from '../../foundation/errors.ts'

const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  ECONNRESET: 'read: connection reset by peer',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'i/o timeout',
}

/** Why a server could not be reached, in the kubelet's words, which people search for. */
export function dialFailure(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const cause = causes[code]
  return cause === undefined ? errorMessage(error) : `dial tcp ${joined(host, port)}: ${cause}`
}

export function joined(host: string, port: number): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]:${port}` : `${host}:${port}`
}
