import { ApiServer } from '../apiserver/api-server.ts'
import { knownTokens } from '../apiserver/authentication.ts'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { imagesFrom } from '../apiserver/image-registry-rule.ts'
import type { PodAccess } from '../apiserver/pod-access.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { openSqliteStore, type SqliteStore } from '../store/sqlite-store.ts'
import type { KeyAndCertificate } from './certificates.ts'
import type { Identity } from './identity.ts'
import { type Listening, listenOn, urlHost } from './listen.ts'

export interface ControlPlaneOptions {
  readonly storePath: string
  readonly identity: Identity
  /** Of the cluster's compute center. */
  readonly registry: string
  readonly tls: KeyAndCertificate & { readonly ca: string }
  readonly host: string
  readonly port: number
  readonly podAccess: PodAccess
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

const stopGraceMs = 2_000

/** The embedded cluster's store and Kubernetes API. */
export class ControlPlane implements Component {
  readonly name = 'control plane'
  readonly client: EmbeddedClient
  readonly #options: ControlPlaneOptions
  readonly #store: SqliteStore
  readonly #server: ApiServer
  #listening: Listening | undefined

  constructor(options: ControlPlaneOptions) {
    this.#options = options
    const { storePath, identity, registry, tls, podAccess, clock, log, metrics } = options
    this.#store = openSqliteStore({ path: storePath })
    const admission = [imagesFrom(registry)]
    const api = new ClusterApi({ store: this.#store, kinds: [...coreKinds, ...customKinds], clock, admission })
    this.client = new EmbeddedClient(api)
    this.#server = new ApiServer({ tls, log, clock, metrics })
    const admin = { name: 'admin', groups: ['system:masters'] }
    const authenticate = knownTokens([{ token: identity.adminToken, user: admin }])
    this.#server.mount({ id: identity.clusterId, api, podAccess, authenticate })
  }

  async start(): Promise<void> {
    const { host, port } = this.#options
    const where = { name: 'control-plane', flag: '--control-plane-port', host, port }
    this.#listening = await listenOn(this.#server, where)
  }

  /** What `kubectl cluster-info` prints; its last segment is the cluster ID. */
  get address(): string {
    const { host, identity } = this.#options
    return `https://${urlHost(host)}:${this.#listening?.port ?? 0}/vks/${identity.clusterId}`
  }

  async stop(): Promise<void> {
    await this.#server.close(stopGraceMs)
    await this.#store.close()
  }
}
