import { ApiServer } from '../apiserver/api-server.ts'
import type { Audit } from '../apiserver/audit/audit-event.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import type { KeyAndCertificate } from './data/certificates.ts'
import { type Listening, listenOn, urlHost } from './listen.ts'

export interface ListenerPlace {
  readonly host: string
  readonly port: number
  /** A socket that already listens, if this program is in its own network namespace and could not be reached there. */
  readonly outside?: number | undefined
  /** Is told of every request, to any cluster, that changes something or reaches into a Pod. */
  readonly audit?: Audit | undefined
}

export interface ControlPlaneListenerOptions extends ListenerPlace {
  readonly tls: KeyAndCertificate & { readonly ca: string }
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

const stopGraceMs = 2_000

/** Where the control planes of all clusters in this program listen. */
export class ControlPlaneListener {
  readonly server: ApiServer
  readonly #options: ControlPlaneListenerOptions
  #listening: Listening | undefined

  constructor(options: ControlPlaneListenerOptions) {
    this.#options = options
    const { tls, log, clock, metrics, audit } = options
    this.server = new ApiServer({ tls, log, clock, metrics, audit })
  }

  async start(): Promise<void> {
    const { host, port, outside } = this.#options
    this.#listening = await listenOn(this.server, {
      name: 'control-plane',
      flag: '--control-plane-port',
      host,
      port,
      outside,
    })
  }

  stop(): Promise<void> {
    return this.server.close(stopGraceMs)
  }

  /** Where programs on this machine can reach it. */
  get place(): { readonly host: string; readonly port: number } {
    return { host: urlHost(this.#options.host), port: this.#listening?.port ?? 0 }
  }

  /** The address that `kubectl cluster-info` prints. Its last segment is the cluster ID. */
  addressOf(clusterId: string): string {
    const { host, port } = this.place
    return `https://${host}:${port}/vks/${clusterId}`
  }
}
