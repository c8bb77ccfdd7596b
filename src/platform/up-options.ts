import type { CertificateFiles } from './data/served-certificate.ts'
import type { NetworkChoice } from '../node/network/open-network.ts'
import type { UserNetworkFacts } from '../node/network/user/user-network.ts'

export { type NetworkChoice, networkChoices } from '../node/network/open-network.ts'

/** The options of `sluice up`. */
export interface UpOptions {
  readonly data: string
  readonly host: string
  readonly ports: {
    readonly management: number
    readonly controlPlane: number
    readonly gateway: number
    readonly exposure: number
  }
  /** If `undefined`, the data directory's own values stay; a new one gets `home` and `local-1`. */
  readonly clusterName: string | undefined
  readonly center: string | undefined
  /** The domain under which services are exposed; if `undefined`, that of the compute center stays. */
  readonly exposureDomain?: string | undefined
  /** The certificate that the edge shows for hosts without their own; if `undefined`, one is issued. */
  readonly exposureCertificate?: CertificateFiles | undefined
  /** `KIND=COUNT,...` of each node; if `undefined`, the machine's cards are detected. */
  readonly gpus: string | undefined
  /** How many nodes the machine is; one, unless it is said. */
  readonly nodes?: number | undefined
  /** The path of a file with further images, engines and resource profiles. */
  readonly config: string | undefined
  readonly idleWindowMs: number
  readonly wakeDeadlineMs: number
  /** How long records of usage are kept. */
  readonly usageRetentionDays: number
  /** Whether a model that somebody waits for may take the cards of an idle one. */
  readonly cardPreemption: boolean
  /** Whether inference requests need a key. */
  readonly requireApiKeys: boolean
  /** Addresses and ranges, separated by commas. */
  readonly trustedProxies: string
  readonly bodyLimitBytes: number
  /** How many threads serve the gateway; if `undefined`, that depends on the machine. */
  readonly gatewayWorkers?: number | undefined
  /** How many finished Pods are kept. */
  readonly finishedPodLimit?: number | undefined
  /** How large a file of the audit log becomes, and how many older ones are kept. */
  readonly auditLog?: { readonly fileBytes: number; readonly olderFiles: number } | undefined
  /** Whether Pods get their own networks; by default, if the machine permits it. */
  readonly podNetwork: NetworkChoice
  /** For an ordinary user: the network namespace in which this program runs, or why there is none. */
  readonly userNetwork?: UserNetworkFacts | undefined
  /** Whether Pods have IPv6 if the machine has it; by default, they do. */
  readonly podIpv6?: boolean | undefined
  /** How long Events are kept after their last change. */
  readonly eventTtlMs?: number | undefined
  /** Whether to serve only the API and start no Pod; if `undefined`, this depends on whether earlier starts crashed. */
  readonly safeMode?: boolean | undefined
  readonly demoModel: boolean
  readonly gateway: boolean
}

/**
 * Where everything listens once it runs: the content of endpoints.json. Without a gateway, `gateway` and
 * `gatewayExposed` are null.
 */
export interface Endpoints {
  readonly clusterId: string
  readonly management: string
  readonly controlPlane: string
  readonly gateway: string | null
  readonly exposure: string
  readonly gatewayExposed: string | null
  readonly registry: string
  /** The path of the certificate authority's certificate. */
  readonly ca: string
  readonly pid: number
}
