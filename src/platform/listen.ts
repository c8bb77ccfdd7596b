import { SluiceError } from '../foundation/errors.ts'

export interface Listening {
  readonly host: string
  readonly port: number
}

export interface ListenPlace extends Listening {
  readonly name: string
  readonly flag: string
  /** A socket that already listens, if this program is in its own network namespace and could not be reached there. */
  readonly outside?: number | undefined
}

interface Listener {
  listen(host: string, port: number, outside?: number): Promise<Listening>
}

/** Listens. If the port is taken, the error names the flag to change. */
export async function listenOn(listener: Listener, where: ListenPlace): Promise<Listening> {
  try {
    const { port } = await listener.listen(where.host, where.port, where.outside)
    return { host: where.host, port }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
      throw new SluiceError('port_in_use', { ...where }, { cause: error })
    }
    throw error
  }
}

/**
 * The host for a URL that reaches a listener on this machine. Nobody can connect to a wildcard address such as
 * `0.0.0.0`.
 */
export function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
