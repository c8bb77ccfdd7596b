/** How a list is merged by a strategic merge patch: by a field of its items, as a set of values, or (unnamed here) replaced whole. */
export type ListMerge = { readonly type: 'by-key'; readonly key: string } | { readonly type: 'values' }

const byKey = (key: string): ListMerge => ({ type: 'by-key', key })

const container: Record<string, ListMerge> = {
  env: byKey('name'),
  ports: byKey('containerPort'),
  volumeMounts: byKey('mountPath'),
  volumeDevices: byKey('devicePath'),
}

const podSpec: Record<string, ListMerge> = {
  containers: byKey('name'),
  initContainers: byKey('name'),
  ephemeralContainers: byKey('name'),
  volumes: byKey('name'),
  imagePullSecrets: byKey('name'),
  hostAliases: byKey('ip'),
  topologySpreadConstraints: byKey('topologyKey'),
  resourceClaims: byKey('name'),
  schedulingGates: byKey('name'),
}

/** Paths without indices. What Kubernetes' types say with `patchMergeKey`, for the kinds that are served here. */
const everyKind = new Map<string, ListMerge>([
  ['metadata.ownerReferences', byKey('uid')],
  ['metadata.finalizers', { type: 'values' }],
  ['status.conditions', byKey('type')],
])

const perKind: Readonly<Record<string, ReadonlyMap<string, ListMerge>>> = {
  Pod: new Map([
    ...under('spec', podSpec),
    ...under('spec.containers', container),
    ...under('spec.initContainers', container),
    ...under('spec.ephemeralContainers', container),
    ...under('status', { podIPs: byKey('ip'), hostIPs: byKey('ip'), resourceClaimStatuses: byKey('name') }),
  ]),
  Service: new Map([['spec.ports', byKey('port')]]),
  Node: new Map<string, ListMerge>([
    ['spec.podCIDRs', { type: 'values' }],
    ['status.addresses', byKey('type')],
  ]),
}

export function listMergeOf(kindName: string, path: string): ListMerge | undefined {
  return perKind[kindName]?.get(path) ?? everyKind.get(path)
}

function under(prefix: string, fields: Record<string, ListMerge>): Array<[string, ListMerge]> {
  return Object.entries(fields).map(([field, merge]) => [`${prefix}.${field}`, merge])
}
