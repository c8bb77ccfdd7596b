import { ApiServer } from '../apiserver/api-server.ts'
import { ClusterAccess } from '../apiserver/access/cluster-access.ts'
import { SigningKey } from '../apiserver/access/identity/signing-key.ts'
import {
  certificateUsers,
  firstKnown,
  knownTokens,
  serviceAccountUsers,
} from '../apiserver/access/identity/authentication.ts'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import type { AdmissionPlugin, AdmissionRule } from '../apiserver/admission/admission.ts'
import { endpointAddresses } from '../apiserver/admission/endpoint-address-rule.ts'
import { imagesFrom } from '../apiserver/admission/image-registry-rule.ts'
import { ObjectBounds } from '../apiserver/object-bounds/object-bounds.ts'
import type { PodAccess } from '../apiserver/pods/pod-access.ts'
import { modelPodsAreMadeHere } from '../apiserver/admission/model-pod-rule.ts'
import { PolicyAdmission, policiesCompile } from '../apiserver/policies/policy-admission.ts'
import { QuotaAdmission } from '../apiserver/quota/quota-admission.ts'
import { QuotaLedger } from '../apiserver/quota/quota-ledger.ts'
import { RuntimeClassAdmission } from '../apiserver/admission/runtime-class-admission.ts'
import { ServiceAccountAdmission } from '../apiserver/admission/service-account-admission.ts'
import { ServiceAddresses } from '../apiserver/services/service-addresses.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { EventRecorder } from '../cluster/event-recorder.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { clusterKind } from '../resources/cluster.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import { serviceAccountKind } from '../resources/service-account.ts'
import { notFound } from '../resources/status-error.ts'
import type { SqliteStore } from '../store/sqlite-store.ts'
import type { KeyAndCertificate } from './data/certificates.ts'
import type { StoreInterruption } from './cluster-store.ts'
import type { Identity } from './data/identity.ts'
import { type Listening, listenOn, urlHost } from './listen.ts'
import { recordApiServerService } from './services/api-server-service.ts'
import { giveAddresses } from './services/give-addresses.ts'
import { type ServiceNetwork, embeddedServiceNetwork, rangesOf } from './services/service-network.ts'
import { recordServiceRange } from './services/service-range.ts'

export interface ControlPlaneOptions {
  /** It is closed with the control plane. */
  readonly store: SqliteStore
  readonly identity: Identity
  /** Of the cluster's compute center. */
  readonly registry: string
  readonly tls: KeyAndCertificate & { readonly ca: string }
  /** Signs the tokens of service accounts. Without one they end with this process. */
  readonly serviceAccountKey?: string | undefined
  readonly host: string
  readonly port: number
  /** A socket that listens there already, where that is not in this program's own network. */
  readonly outside?: number | undefined
  /** Where Services are; on loopback addresses of this machine unless told otherwise. */
  readonly services?: ServiceNetwork | undefined
  readonly podAccess: PodAccess
  /** Rules of this cluster beyond those of every embedded one. */
  readonly rules?: readonly AdmissionRule[] | undefined
  /** Asked last, after everybody else has let an object in. */
  readonly plugins?: readonly AdmissionPlugin[] | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

const stopGraceMs = 2_000
/** Where the API is inside a cluster; the second for those who may not use the first. */
const usualPorts = [443, 6443] as const
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
  readonly #services: ServiceNetwork
  readonly #quotas: QuotaLedger
  readonly #server: ApiServer
  readonly #events: EventRecorder
  #listening: Listening | undefined

  constructor(options: ControlPlaneOptions) {
    this.#options = options
    const { store, identity, registry, tls, podAccess, clock, log, metrics } = options
    this.#store = store
    this.#access = new ClusterAccess({
      store: this.#store,
      log,
      signingKey: options.serviceAccountKey ?? SigningKey.generatePem(),
      issuer: `https://kubernetes.default.svc.cluster.local/vks/${identity.clusterId}`,
    })
    const { authorizer, tokens } = this.#access
    const kinds = [...coreKinds, ...customKinds]
    const admission = [
      imagesFrom(registry),
      endpointAddresses(),
      modelPodsAreMadeHere,
      policiesCompile,
      ...(options.rules ?? []),
      ...this.#access.admission,
    ]
    this.#services = options.services ?? embeddedServiceNetwork(identity.clusterId)
    this.#quotas = new QuotaLedger({ store: this.#store, kinds: () => this.#api.kinds.list() })
    const bounds = new ObjectBounds({ store: this.#store, kinds: () => this.#api.kinds.list(), clock })
    const plugins = [
      new ServiceAccountAdmission(this.#store),
      new RuntimeClassAdmission(this.#store),
      new ServiceAddresses({ store: this.#store, ranges: rangesOf(this.#services) }),
      new PolicyAdmission({ store: this.#store, kinds: () => this.#api.kinds.list() }),
      // Almost the last: what another refuses uses nothing.
      new QuotaAdmission(this.#quotas),
      bounds,
      ...(options.plugins ?? []),
    ]
    const writtenBytes = () => bounds.writtenBytes
    this.#api = new ClusterApi({ store: this.#store, kinds, clock, admission, plugins, writtenBytes })
    this.client = new EmbeddedClient(this.#api)
    this.#events = new EventRecorder({ client: this.client, component: 'sluice-store', clock, log })
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
    const { host, port, outside } = this.#options
    const where = { name: 'control-plane', flag: '--control-plane-port', host, port, outside }
    this.#listening = await listenOn(this.#server, where)
    await giveAddresses(this.client, rangesOf(this.#services))
    await this.#listenInside(urlHost(host), this.#listening.port)
  }

  /** Writes were not taken for a while, and are again: said about the Cluster, once it is there. */
  tellInterruption({ reason, lastedMs, notMade }: StoreInterruption): void {
    const about = this.#api.find(clusterKind, { name: this.#options.identity.clusterId })
    if (!about) return
    const lasted = `No write was taken for ${(lastedMs / 1000).toFixed(1)} s`
    const message = `${lasted}: the thread with the store's file was lost (${reason}). Waiting writes refused: ${notMade}.`
    this.#events.record(about, 'Warning', 'StoreInterrupted', message)
  }

  /** What a namespace's objects use, by its quotas. */
  get quotas(): QuotaLedger {
    return this.#quotas
  }

  /** A token of a Pod's service account, good as long as the Pod is there. Throws NotFound when the account is not. */
  podToken(pod: Pod, audience: string | undefined, expirationSeconds: number): string {
    const { namespace, name, uid } = pod.metadata
    const account = this.#api.get(serviceAccountKind, { namespace, name: accountOf(pod) })
    const audiences = audience === undefined || audience === '' ? this.#access.tokens.defaultAudiences : [audience]
    if (this.#api.get(podKind, { namespace, name }).metadata.uid !== uid) throw notFound(podKind, name)
    // As its node knows it: that it is bound to this node may not be written yet.
    const bound = { kind: 'Pod', object: pod } as const
    return this.#access.tokens.issue({ account, audiences, expirationSeconds, bound, now: this.#options.clock.now() })
  }

  /**
   * The Service `kubernetes`, and behind it this cluster as programs in Pods expect it: at a host and a port, without a
   * prefix.
   */
  async #listenInside(host: string, port: number): Promise<void> {
    const { identity, log } = this.#options
    const { apiServer, isLocal } = this.#services
    let inside: number = usualPorts[0]
    for (const candidate of isLocal ? usualPorts : []) {
      try {
        await this.#server.listenInside(identity.clusterId, apiServer, candidate)
        inside = candidate
        break
      } catch (error) {
        log.warn({ err: error, address: apiServer, port: candidate }, 'Pods cannot reach the API server here')
      }
    }
    const target = { host, port }
    await recordApiServerService(this.client, { clusterIP: apiServer, port: inside, target })
    await recordServiceRange(this.client, rangesOf(this.#services), this.#options.clock)
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

function accountOf({ spec }: Pod): string {
  const { serviceAccountName } = spec
  return typeof serviceAccountName === 'string' && serviceAccountName !== '' ? serviceAccountName : 'default'
}
