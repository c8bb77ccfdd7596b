import { ApiServer } from '../apiserver/api-server.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import type { KeyAndCertificate } from './data/certificates.ts'
import { type Listening, listenOn, urlHost } from './listen.ts'

export interface ControlPlaneListenerOptions {
  readonly tls: KeyAndCertificate & { readonly ca: string }
  readonly host: string
  readonly port: number
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

const stopGraceMs = 2_000

/** Where the control planes of all clusters of this program are. */
export class ControlPlaneListener {
  readonly server: ApiServer
  readonly #options: ControlPlaneListenerOptions
  #listening: Listening | undefined

  constructor(options: ControlPlaneListenerOptions) {
    this.#options = options
    const { tls, log, clock, metrics } = options
    this.server = new ApiServer({ tls, log, clock, metrics })
  }

  async start(): Promise<void> {
    const { host, port } = this.#options
    this.#listening = await listenOn(this.server, {
      name: 'control-plane',
      flag: '--control-plane-port',
      host,
      port,
    })
  }

  stop(): Promise<void> {
    return this.server.close(stopGraceMs)
  }

  /** By which programs of this machine reach it. */
  get place(): { readonly host: string; readonly port: number } {
    return { host: urlHost(this.#options.host), port: this.#listening?.port ?? 0 }
  }

  /** What `kubectl cluster-info` prints; its last segment is the cluster ID. */
  addressOf(clusterId: string): string {
    const { host, port } = this.place
    return `https://${host}:${port}/vks/${clusterId}`
  }
}
