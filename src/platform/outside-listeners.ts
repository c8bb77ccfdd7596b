import { closeSync } from 'node:fs'
import { SluiceError } from '../foundation/errors.ts'
import type { UpOptions } from './up-options.ts'

const faces = {
  management: { name: 'management', flag: '--management-port' },
  controlPlane: { name: 'control-plane', flag: '--control-plane-port' },
  gateway: { name: 'gateway', flag: '--gateway-port' },
  exposure: { name: 'exposure', flag: '--exposure-port' },
} as const
export type Face = keyof typeof faces

/** One socket for each thread and its replacements: a thread that is lost takes its socket with it. */
const ofThreads = 64

/**
 * The sockets to open before this program enters its own network namespace, where it could not be reached from outside.
 */
export function socketsToOpen({ host, ports }: Pick<UpOptions, 'host' | 'ports'>): ReadonlyArray<{
  readonly name: Face
  readonly host: string
  readonly port: number
  readonly count: number
}> {
  const one = (name: Face, count: number) => ({ name, host, port: ports[name], count })
  return [one('management', 1), one('controlPlane', 1), one('gateway', ofThreads), one('exposure', ofThreads)]
}

/** Sockets that were opened before this program entered its own network namespace. None if it runs in the machine's. */
export class OutsideListeners {
  readonly #open: Map<string, number[]>

  /** Throws if a socket could not be opened. The error names the flag to change. */
  constructor({ host, ports, userNetwork }: Pick<UpOptions, 'host' | 'ports' | 'userNetwork'>) {
    const found = userNetwork && 'keeper' in userNetwork ? userNetwork : undefined
    this.#open = new Map(Object.entries(found?.listeners ?? {}).map(([name, sockets]) => [name, [...sockets]]))
    for (const face of ['management', 'controlPlane', 'gateway', 'exposure'] as const) {
      const reason = found?.refused[face]
      if (reason === undefined) continue
      const where = { ...faces[face], host, port: ports[face] }
      if (reason === 'EADDRINUSE') throw new SluiceError('port_in_use', where)
      throw new SluiceError('invalid_flag', { flag: '--host', reason: `Nobody can listen at ${host}: ${reason}.` })
    }
  }

  take(face: Face): number | undefined {
    return this.takeAll(face)?.shift()
  }

  takeAll(face: Face): number[] | undefined {
    const sockets = this.#open.get(face)
    this.#open.delete(face)
    return sockets
  }

  /** Closes the rest, so that clients are refused instead of waiting for somebody to accept. */
  closeUnused(): void {
    for (const socket of [...this.#open.values()].flat()) closeSync(socket)
    this.#open.clear()
  }
}
