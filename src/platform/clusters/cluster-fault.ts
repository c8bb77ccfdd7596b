/** Why a cluster cannot be started or attached, in words for its status. */
export class ClusterFault extends Error {
  readonly reason: string

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
