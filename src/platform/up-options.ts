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
  readonly clusterName: string
  readonly center: string
  /** `KIND=COUNT,...`; undefined lets the machine decide. */
  readonly gpus: string | undefined
  readonly idleWindowMs: number
  readonly wakeDeadlineMs: number
  readonly demoModel: boolean
  readonly gateway: boolean
}

/** What is where, once everything runs: the content of endpoints.json. `gateway` and `gatewayExposed` are null without a gateway. */
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
