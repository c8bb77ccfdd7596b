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
  /** Is closed together with the control plane. */
  readonly store: SqliteStore
  readonly identity: Pick<Identity, 'clusterId' | 'adminToken'>
  /** The current image registry of the cluster's compute center. */
  readonly registry: () => string
  readonly tls: KeyAndCertificate & { readonly ca: string }
  /** Signs service account tokens. Without one, a new key is made, and tokens end with this process. */
  readonly serviceAccountKey?: string | undefined
  /** Where to listen: at its own address, or together with clusters that already listen. */
  readonly at: ListenerPlace | ControlPlaneListener
  /** Which of Sluice's own kinds the cluster has; by default, all. */
  readonly customKinds?: readonly Kind[] | undefined
  /** Admission rules beyond those of every cluster. */
  readonly rules?: readonly AdmissionRule[] | undefined
  /** The addresses of Services; by default, loopback addresses of this machine. */
  readonly services?: ServiceNetwork | undefined
  readonly podAccess: PodAccess
  /** Asked last, once everything else has admitted an object. */
  readonly plugins?: readonly AdmissionPlugin[] | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** The ports at which Pods reach the API. The second is for users who may not listen on the first. */
const usualPorts = [443, 6443] as const
/** Every cluster has these namespaces. */
const systemNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

/** The store and the Kubernetes API of an embedded cluster. */
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
      // Comes almost last, so that objects that others refuse use up no quota.
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
    // Clusters that share a listener have their own certificate authority and metrics, so that none can see the others.
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
    // Mounted only now: before, the roles were missing that decide what a user may do.
    else this.#mount()
    await giveAddresses(this.client, rangesOf(this.#services))
    await this.#listenInside()
  }

  /** Records an Event on the Cluster, if it exists by now: writes were refused for a while and are accepted again. */
  tellInterruption({ reason, lastedMs, notMade }: StoreInterruption): void {
    const about = this.#api.find(clusterKind, { name: this.#options.identity.clusterId })
    if (!about) return
    const lasted = `No write was taken for ${(lastedMs / 1000).toFixed(1)} s`
    const message = `${lasted}: the thread with the store's file was lost (${reason}). Waiting writes refused: ${notMade}.`
    this.#events.record(about, 'Warning', 'StoreInterrupted', message)
  }

  /** Another client, for what people write themselves: its fields are its own, and misspelled ones are refused. */
  clientFor(manager: string, writing: { readonly dryRun?: boolean } = {}): EmbeddedClient {
    return new EmbeddedClient(this.#api, manager, { ...writing, fieldValidation: 'Strict' })
  }

  /** How much of each namespace's quota is used. */
  get quotas(): QuotaLedger {
    return this.#quotas
  }

  /**
   * A token for a Pod's service account, valid as long as the Pod exists. Throws NotFound if the account does not
   * exist.
   */
  podToken(pod: Pod, audience: string | undefined, expirationSeconds: number): string {
    const { namespace, name, uid } = pod.metadata
    const account = this.#api.get(serviceAccountKind, { namespace, name: accountOf(pod) })
    const audiences = audience === undefined || audience === '' ? this.#access.tokens.defaultAudiences : [audience]
    if (this.#api.get(podKind, { namespace, name }).metadata.uid !== uid) throw notFound(podKind, name)
    // The Pod as its node knows it: its binding to the node may not be stored yet.
    const bound = { kind: 'Pod', object: pod } as const
    return this.#access.tokens.issue({ account, audiences, expirationSeconds, bound, now: this.#options.clock.now() })
  }

  /**
   * Makes the Service `kubernetes`, and listens behind it. Programs in Pods expect the API at a host and port, without
   * a path prefix.
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

  /** The address that `kubectl cluster-info` prints. Its last segment is the cluster ID. */
  get address(): string {
    return this.listener.addressOf(this.#options.identity.clusterId)
  }

  /** Why the store accepts no writes; `undefined` while it does. */
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
