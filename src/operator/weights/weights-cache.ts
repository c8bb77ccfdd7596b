/** Where a node keeps the files of Models that ran there, so that the next start reads them from its own disk. */
export interface WeightsCache {
  /** A folder of the node. */
  readonly hostPath?: string | undefined
  /** Or any volume that Pods of one node share, as a Pod's spec has it, without the name. */
  readonly volume?: Readonly<Record<string, unknown>> | undefined
  /** What it may hold; what was not used for the longest time makes room. */
  readonly size: string
  /** Who writes the folder; root by default, because a folder that Kubernetes makes belongs to root. */
  readonly runAsUser?: number | undefined
}
