/** What a name below the cluster's domain asks for. */
export type ClusterNameRequest =
  /** A name that has others below it and nothing of its own: `svc`, and the domain itself. */
  | { readonly kind: 'branch' }
  | { readonly kind: 'namespace'; readonly namespace: string }
  | ServiceRequest
  | { readonly kind: 'pod'; readonly namespace: string; readonly label: string }
  | { readonly kind: 'version' }
  | { readonly kind: 'nameserver' }
  | { readonly kind: 'unknown' }

export interface ServiceRequest {
  readonly kind: 'service'
  readonly namespace: string
  readonly service: string
  /** The first label of an endpoint's name. */
  readonly endpoint: string | undefined
  /** Empty: any. */
  readonly port: string
  readonly protocol: string
}

/** Parses the labels before the cluster's domain, in lower case. */
export function parseClusterName(labels: readonly string[]): ClusterNameRequest {
  const [tree, namespace, name, ...rest] = labels.toReversed()
  if (tree === undefined) return { kind: 'branch' }
  if (tree === 'dns-version' && labels.length === 1) return { kind: 'version' }
  if (tree === 'dns') return namespace === 'ns' && labels.length === 2 ? { kind: 'nameserver' } : { kind: 'unknown' }
  if (tree !== 'svc' && tree !== 'pod') return { kind: 'unknown' }
  if (namespace === undefined) return { kind: 'branch' }
  if (name === undefined) return { kind: 'namespace', namespace }
  if (tree === 'pod') return rest.length === 0 ? { kind: 'pod', namespace, label: name } : { kind: 'unknown' }
  const service = { kind: 'service', namespace, service: name } as const
  const [first, second] = rest
  if (rest.length > 2) return { kind: 'unknown' }
  if (first === undefined) return { ...service, endpoint: undefined, port: '', protocol: '' }
  if (second === undefined) return { ...service, endpoint: first, port: '', protocol: '' }
  return { ...service, endpoint: undefined, protocol: withoutUnderscore(first), port: withoutUnderscore(second) }
}

function withoutUnderscore(label: string): string {
  return label.startsWith('_') ? label.slice(1) : label
}
