import { ApiServer } from '../apiserver/api-server.ts'
import { ClusterAccess } from '../apiserver/access/cluster-access.ts'
import { SigningKey } from '../apiserver/access/signing-key.ts'
import { certificateUsers, firstKnown, knownTokens, serviceAccountUsers } from '../apiserver/authentication.ts'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { imagesFrom } from '../apiserver/image-registry-rule.ts'
import type { PodAccess } from '../apiserver/pod-access.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { openSqliteStore, type SqliteStore } from '../store/sqlite-store.ts'
import type { KeyAndCertificate } from './certificates.ts'
import type { Identity } from './identity.ts'
import { type Listening, listenOn, urlHost } from './listen.ts'

export interface ControlPlaneOptions {
  readonly storePath: string
  /** How many events can be watched from the past. */
  readonly historyLimit?: number | undefined
  readonly identity: Identity
  /** Of the cluster's compute center. */
  readonly registry: string
  readonly tls: KeyAndCertificate & { readonly ca: string }
  /** Signs the tokens of service accounts. Without one they end with this process. */
  readonly serviceAccountKey?: string | undefined
  readonly host: string
  readonly port: number
  readonly podAccess: PodAccess
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

const stopGraceMs = 2_000
/** What every cluster has, whatever it is for. */
const systemNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

/** The embedded cluster's store and Kubernetes API. */
export class ControlPlane implements Component {
  readonly name = 'control plane'
  readonly client: EmbeddedClient
  readonly #options: ControlPlaneOptions
  readonly #store: SqliteStore
  readonly #api: ClusterApi
  readonly #access: ClusterAccess
  readonly #server: ApiServer
  #listening: Listening | undefined

  constructor(options: ControlPlaneOptions) {
    this.#options = options
    const { storePath, historyLimit, identity, registry, tls, podAccess, clock, log, metrics } = options
    this.#store = openSqliteStore({ path: storePath, historyLimit })
    this.#access = new ClusterAccess({
      store: this.#store,
      log,
      signingKey: options.serviceAccountKey ?? SigningKey.generatePem(),
      issuer: `https://kubernetes.default.svc.cluster.local/vks/${identity.clusterId}`,
    })
    const { authorizer, tokens } = this.#access
    const kinds = [...coreKinds, ...customKinds]
    const admission = [imagesFrom(registry), ...this.#access.admission]
    this.#api = new ClusterApi({ store: this.#store, kinds, clock, admission })
    this.client = new EmbeddedClient(this.#api)
    this.#server = new ApiServer({ tls, log, clock, metrics })
    const admin = { name: 'admin', groups: ['system:masters'] }
    const authenticate = firstKnown(
      knownTokens([{ token: identity.adminToken, user: admin }]),
      certificateUsers(tls.ca),
      serviceAccountUsers(tokens, () => clock.now()),
    )
    const checks = [
      { name: 'store', isHealthy: () => this.#store.failure === undefined },
      { name: 'poststarthook/rbac/bootstrap-roles', readinessOnly: true, isHealthy: () => this.#access.ready },
    ]
    this.#server.mount({ id: identity.clusterId, api: this.#api, podAccess, authenticate, authorizer, tokens, checks })
  }

  async start(): Promise<void> {
    for (const name of systemNamespaces) {
      if (!this.#api.find(namespaceKind, { name })) await this.client.create(namespaceKind, { metadata: { name } })
    }
    await this.#api.installDefinitions(customKinds)
    await this.#access.start(this.#api)
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
    await this.#access.stop()
    await this.#store.close()
  }
}
