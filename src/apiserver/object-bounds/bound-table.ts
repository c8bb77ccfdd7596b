/**
 * How much of a resource a cluster may hold. Its own controllers may use a tenth more, so that they can always go on.
 */
export interface ObjectBound {
  readonly inAll: number
  readonly perNamespace: number
  /** Of the objects' JSON together. */
  readonly bytes?: number | undefined
}

export interface BoundTable {
  readonly resources: Readonly<Record<string, ObjectBound>>
  readonly everythingElse: ObjectBound
  /** Of all resources but Events, which are many and small. */
  readonly bytes: number
}

const mebibyte = 1024 * 1024

/** docs/reference/limits.md has the same table. */
export const defaultBounds: BoundTable = {
  resources: {
    events: { inAll: 20_000, perNamespace: 5_000 },
    pods: { inAll: 10_000, perNamespace: 5_000 },
    configmaps: { inAll: 50_000, perNamespace: 20_000, bytes: 256 * mebibyte },
    secrets: { inAll: 50_000, perNamespace: 20_000, bytes: 256 * mebibyte },
    namespaces: { inAll: 2_000, perNamespace: 2_000 },
    'networkpolicies.networking.k8s.io': { inAll: 2_000, perNamespace: 500 },
    'customresourcedefinitions.apiextensions.k8s.io': { inAll: 500, perNamespace: 500 },
  },
  everythingElse: { inAll: 20_000, perNamespace: 10_000 },
  bytes: 512 * mebibyte,
}
