import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import type { Clock } from '../../foundation/clock.ts'

/** A resolver for names outside the cluster. */
export interface Upstream {
  readonly address: string
  readonly port: number
}

const rereadMs = 5_000
const mostUpstreams = 15
const mostBytes = 1024 * 1024

/** The machine's resolvers, as named in its `resolv.conf`. Read again while in use, because networks come and go. */
export class ResolversFile {
  readonly #path: string
  readonly #clock: Clock
  #readAt = Number.NEGATIVE_INFINITY
  #known: Promise<readonly Upstream[]> = Promise.resolve([])

  constructor(clock: Clock, path = '/etc/resolv.conf') {
    this.#clock = clock
    this.#path = path
  }

  upstreams(): Promise<readonly Upstream[]> {
    const now = this.#clock.now()
    if (Math.abs(now - this.#readAt) < rereadMs) return this.#known
    this.#readAt = now
    const before = this.#known
    // While the file is being replaced, the previous resolvers are used.
    this.#known = readFile(this.#path).then(
      (bytes) => upstreamsIn(bytes.toString('utf8', 0, mostBytes)),
      () => before,
    )
    return this.#known
  }
}

/** Read as a C library does, but without its limit of three. */
export function upstreamsIn(text: string): readonly Upstream[] {
  const addresses = text.split('\n').flatMap((line) => {
    const [word, address = ''] = line.trim().split(/\s+/)
    return word === 'nameserver' && isIP(address) !== 0 ? [address] : []
  })
  return [...new Set(addresses)].slice(0, mostUpstreams).map((address) => ({ address, port: 53 }))
}
