import { type Kind, apiVersionOf } from '../resources/kind.ts'

const resourceVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const subresourceVerbs = ['get', 'patch', 'update']

interface Subresource {
  readonly name: string
  readonly verbs: readonly string[]
  readonly responseKind: { readonly group: string; readonly version: string; readonly kind: string }
}

/** What of an object can be reached under its own name. */
export function subresourcesOf(kind: Kind): Subresource[] {
  const own = { group: kind.group, version: kind.version, kind: kind.kind }
  const isCore = kind.group === ''
  return [
    ...(kind.hasStatus ? [{ name: 'status', verbs: subresourceVerbs, responseKind: own }] : []),
    ...(kind.scale
      ? [
          {
            name: 'scale',
            verbs: subresourceVerbs,
            responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
          },
        ]
      : []),
    ...(isCore && kind.kind === 'Pod' ? [{ name: 'log', verbs: ['get'], responseKind: own }] : []),
    ...(isCore && kind.kind === 'Namespace' ? [{ name: 'finalize', verbs: ['update'], responseKind: own }] : []),
  ]
}

/** `/api` */
export function coreVersions(serverAddress: string): Record<string, unknown> {
  const serverAddressByClientCIDRs = [{ clientCIDR: '0.0.0.0/0', serverAddress }]
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs }
}

/** `/apis` */
export function groupList(kinds: readonly Kind[]): Record<string, unknown> {
  return {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: groupNames(kinds).map((group) => describeGroup(kinds, group)),
  }
}

/** `/apis/<group>` */
export function oneGroup(kinds: readonly Kind[], group: string): Record<string, unknown> | undefined {
  if (!groupNames(kinds).includes(group)) return undefined
  return { kind: 'APIGroup', apiVersion: 'v1', ...describeGroup(kinds, group) }
}

function describeGroup(kinds: readonly Kind[], name: string): Record<string, unknown> {
  const versions = versionsOf(kinds, name).map((version) => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions, preferredVersion: versions[0] }
}

/** `/api/v1` and `/apis/<group>/<version>` */
export function resourceList(
  kinds: readonly Kind[],
  group: string,
  version: string,
): Record<string, unknown> | undefined {
  const served = kinds.filter((kind) => kind.group === group && kind.version === version)
  const [first] = served
  if (!first) return undefined
  const resources = served.flatMap((kind) => [
    {
      name: kind.plural,
      singularName: kind.singular,
      namespaced: kind.namespaced,
      kind: kind.kind,
      verbs: resourceVerbs,
      ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
      ...(kind.categories.length > 0 && { categories: kind.categories }),
    },
    ...subresourcesOf(kind).map(({ name, verbs, responseKind }) => ({
      name: `${kind.plural}/${name}`,
      singularName: '',
      namespaced: kind.namespaced,
      ...(responseKind.group !== group && { group: responseKind.group, version: responseKind.version }),
      kind: responseKind.kind,
      verbs,
    })),
  ])
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersionOf(first), resources }
}

/** All of the core group (`/api`), or all of the others (`/apis`), in one answer. */
export function aggregatedDiscovery(kinds: readonly Kind[], root: 'api' | 'apis'): Record<string, unknown> {
  const groups = root === 'api' ? [''] : groupNames(kinds)
  const items = groups.map((group) => ({
    metadata: group === '' ? {} : { name: group },
    versions: versionsOf(kinds, group).map((version) => ({
      version,
      resources: kinds
        .filter((kind) => kind.group === group && kind.version === version)
        .map((kind) => aggregatedResource(kind)),
      freshness: 'Current',
    })),
  }))
  return { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items }
}

function aggregatedResource(kind: Kind): Record<string, unknown> {
  const subresources = subresourcesOf(kind).map(({ name, verbs, responseKind }) => ({
    subresource: name,
    responseKind,
    verbs,
  }))
  return {
    resource: kind.plural,
    responseKind: { group: kind.group, version: kind.version, kind: kind.kind },
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: resourceVerbs,
    ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
    ...(kind.categories.length > 0 && { categories: kind.categories }),
    ...(subresources.length > 0 && { subresources }),
  }
}

function groupNames(kinds: readonly Kind[]): string[] {
  return [...new Set(kinds.map(({ group }) => group))].filter((group) => group !== '').sort()
}

function versionsOf(kinds: readonly Kind[], group: string): string[] {
  return [...new Set(kinds.filter((kind) => kind.group === group).map(({ version }) => version))]
}
