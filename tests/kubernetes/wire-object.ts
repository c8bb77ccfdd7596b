/** What comes over the wire, with the fields that tests name; everything else is compared as a whole. */
export interface WireObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: WireMetadata
  readonly items: readonly WireObject[]
  readonly message: string
  readonly reason: string
  readonly [field: string]: unknown
}

export interface WireMetadata {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number
  readonly continue?: string
  readonly remainingItemCount?: number
  readonly deletionTimestamp?: string
  readonly [field: string]: unknown
}
