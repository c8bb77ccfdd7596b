import type { CertificateFiles } from './data/served-certificate.ts'
import type { NetworkChoice } from '../node/network/open-network.ts'
import type { UserNetworkFacts } from '../node/network/user/user-network.ts'

export { type NetworkChoice, networkChoices } from '../node/network/open-network.ts'

/** What `sluice up` was asked for. */
export interface UpOptions {
  readonly data: string
  readonly host: string
  readonly ports: {
    readonly management: number
    readonly controlPlane: number
    readonly gateway: number
    readonly exposure: number
  }
  /** Undefined keeps what the data directory has; a new one gets `home` and `local-1`. */
  readonly clusterName: string | undefined
  readonly center: string | undefined
  /** What the edge shows where a host has nothing of its own; undefined has it made. */
  readonly exposureCertificate?: CertificateFiles | undefined
  /** `KIND=COUNT,...`; undefined lets the machine decide. */
  readonly gpus: string | undefined
  /** Path of a file with further images and resource profiles. */
  readonly config: string | undefined
  readonly idleWindowMs: number
  readonly wakeDeadlineMs: number
  /** Whether a model that somebody waits for may take the cards of one that is idle. */
  readonly cardPreemption: boolean
  /** Whether inference requests need a key. */
  readonly requireApiKeys: boolean
  /** Addresses and ranges, separated by commas. */
  readonly trustedProxies: string
  readonly bodyLimitBytes: number
  /** How many threads serve the gateway; undefined lets the machine decide. */
  readonly gatewayWorkers?: number | undefined
  /** How many Pods that have finished are kept. */
  readonly finishedPodLimit?: number | undefined
  /** How large a file of the audit log becomes, and how many older ones are kept. */
  readonly auditLog?: { readonly fileBytes: number; readonly olderFiles: number } | undefined
  /** Whether Pods get networks of their own; where the machine permits it, unless something else is said. */
  readonly podNetwork: NetworkChoice
  /** Of an ordinary user: the network that this program was started in, or why there is none. */
  readonly userNetwork?: UserNetworkFacts | undefined
  /** Whether Pods have IPv6 where the machine does; unless told, they do. */
  readonly podIpv6?: boolean | undefined
  /** How long Events are kept after their last change. */
  readonly eventTtlMs?: number | undefined
  /** Whether to serve the API only and start no Pod; undefined lets the record of earlier starts decide. */
  readonly safeMode?: boolean | undefined
  readonly demoModel: boolean
  readonly gateway: boolean
}

/**
 * What is where, once everything runs: the content of endpoints.json. `gateway` and `gatewayExposed` are null without a
 * gateway.
 */
export interface Endpoints {
  readonly clusterId: string
  readonly management: string
  readonly controlPlane: string
  readonly gateway: string | null
  readonly exposure: string
  readonly gatewayExposed: string | null
  readonly registry: string
  /** Path of the certificate authority's certificate. */
  readonly ca: string
  readonly pid: number
}
