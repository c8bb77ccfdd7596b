/** Why a cluster cannot be started or attached, as its status says it. */
export class ClusterFault extends Error {
  readonly reason: string

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
