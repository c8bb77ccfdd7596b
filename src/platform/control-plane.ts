import { ClusterAccess } from '../apiserver/access/cluster-access.ts'
import { SigningKey } from '../apiserver/access/identity/signing-key.ts'
import {
  certificateUsers,
  firstKnown,
  knownTokens,
  serviceAccountUsers,
} from '../apiserver/access/identity/authentication.ts'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import type { AdmissionPlugin, AdmissionRequest, AdmissionRule } from '../apiserver/admission/admission.ts'
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
import { clusterKind, controlPlaneName } from '../resources/cluster.ts'
import type { Kind } from '../resources/kind.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import { serviceAccountKind } from '../resources/service-account.ts'
import { notFound } from '../resources/status-error.ts'
import type { SqliteStore } from '../store/sqlite-store.ts'
import type { KeyAndCertificate } from './data/certificates.ts'
import type { StoreInterruption } from './cluster-store.ts'
import type { Identity } from './data/identity.ts'
import { ControlPlaneListener, type ListenerPlace } from './control-plane-listener.ts'
import { recordApiServerService } from './services/api-server-service.ts'
import { giveAddresses } from './services/give-addresses.ts'
import { type ServiceNetwork, embeddedServiceNetwork, rangesOf } from './services/service-network.ts'
import { recordServiceRange } from './services/service-range.ts'

export interface ControlPlaneOptions {
  /** It is closed with the control plane. */
  readonly store: SqliteStore
  readonly identity: Pick<Identity, 'clusterId' | 'adminToken'>
  /** Of the cluster's compute center, as it is at the moment. */
  readonly registry: () => string
  readonly tls: KeyAndCertificate & { readonly ca: string }
  /** Signs the tokens of service accounts. Without one they end with this process. */
  readonly serviceAccountKey?: string | undefined
  /** Where it listens: at a place of its own, or with the clusters that are there already. */
  readonly at: ListenerPlace | ControlPlaneListener
  /** Which kinds of ours it has; all of them unless told. */
  readonly customKinds?: readonly Kind[] | undefined
  /** What it refuses beyond what every cluster does. */
  readonly rules?: readonly AdmissionRule[] | undefined
  /** Where Services are; on loopback addresses of this machine unless told otherwise. */
  readonly services?: ServiceNetwork | undefined
  readonly podAccess: PodAccess
  /** Asked last, after everybody else has let an object in. */
  readonly plugins?: readonly AdmissionPlugin[] | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

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
  readonly #customKinds: readonly Kind[]
  readonly #events: EventRecorder
  readonly listener: ControlPlaneListener
  readonly #ownsListener: boolean
  readonly #mount: () => void

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
    this.#customKinds = options.customKinds ?? customKinds
    const kinds = [...coreKinds, ...this.#customKinds]
    const admission = [
      (request: AdmissionRequest) => imagesFrom(registry())(request),
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
      new PolicyAdmission({ store: this.#store, authorizer, kinds: () => this.#api.kinds.list() }),
      // Almost the last: what another refuses uses nothing.
      new QuotaAdmission(this.#quotas),
      bounds,
      ...(options.plugins ?? []),
    ]
    const writtenBytes = () => bounds.writtenBytes
    this.#api = new ClusterApi({ store: this.#store, kinds, clock, admission, plugins, writtenBytes })
    this.client = new EmbeddedClient(this.#api)
    this.#events = new EventRecorder({ client: this.client, component: 'sluice-store', clock, log })
    this.#ownsListener = !(options.at instanceof ControlPlaneListener)
    this.listener =
      options.at instanceof ControlPlaneListener
        ? options.at
        : new ControlPlaneListener({ ...options.at, tls, clock, log, metrics })
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
    const mounted = { id: identity.clusterId, api: this.#api, podAccess, authenticate, authorizer, tokens, checks }
    // Who shares the listener is known by another authority than its owner, and sees nothing of the others.
    const apart = { tls: { ...tls, serverName: controlPlaneName(identity.clusterId) }, metrics }
    this.#mount = () => this.listener.server.mount(this.#ownsListener ? mounted : { ...mounted, ...apart })
    if (this.#ownsListener) this.#mount()
  }

  async start(): Promise<void> {
    const missing = systemNamespaces.filter((name) => !this.#api.find(namespaceKind, { name }))
    await Promise.all([
      ...missing.map((name) => this.client.create(namespaceKind, { metadata: { name } })),
      this.#api.installDefinitions(this.#customKinds),
      this.#access.start(this.#api),
    ])
    if (this.#ownsListener) await this.listener.start()
    // Only now: before, nobody could tell what somebody may do there.
    else this.#mount()
    await giveAddresses(this.client, rangesOf(this.#services))
    await this.#listenInside()
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
  async #listenInside(): Promise<void> {
    const { identity, log } = this.#options
    const { apiServer, isLocal } = this.#services
    let inside: number = usualPorts[0]
    for (const candidate of isLocal ? usualPorts : []) {
      try {
        await this.listener.server.listenInside(identity.clusterId, apiServer, candidate)
        inside = candidate
        break
      } catch (error) {
        log.warn({ err: error, address: apiServer, port: candidate }, 'Pods cannot reach the API server here')
      }
    }
    await recordApiServerService(this.client, { clusterIP: apiServer, port: inside, target: this.listener.place })
    await recordServiceRange(this.client, rangesOf(this.#services), this.#options.clock)
  }

  /** What `kubectl cluster-info` prints; its last segment is the cluster ID. */
  get address(): string {
    return this.listener.addressOf(this.#options.identity.clusterId)
  }

  /** Why it takes no writes; undefined while it does. */
  get failure(): Error | undefined {
    return this.#store.failure
  }

  async stop(): Promise<void> {
    if (this.#ownsListener) await this.listener.stop()
    else this.listener.server.unmount(this.#options.identity.clusterId)
    await this.#access.stop()
    await this.#store.close()
  }
}

function accountOf({ spec }: Pod): string {
  const { serviceAccountName } = spec
  return typeof serviceAccountName === 'string' && serviceAccountName !== '' ? serviceAccountName : 'default'
}
