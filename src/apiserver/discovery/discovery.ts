import { type Kind, type ResourceVerb, apiVersionOf } from '../../resources/kind.ts'
import type { SubresourceFacts } from '../../resources/kind-facts.ts'

const allVerbs: readonly ResourceVerb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
]
const readAndWrite = ['get', 'patch', 'update']

export function verbsOf(kind: Kind): readonly ResourceVerb[] {
  return kind.verbs ?? allVerbs
}

export function subresourcesOf(kind: Kind): SubresourceFacts[] {
  const own = { group: kind.group, version: kind.version, kind: kind.kind }
  const scale = { group: 'autoscaling', version: 'v1', kind: 'Scale' }
  return [
    ...(kind.subresources ?? []),
    ...(kind.scale ? [{ name: 'scale', verbs: readAndWrite, responseKind: scale }] : []),
    ...(kind.hasStatus ? [{ name: 'status', verbs: readAndWrite, responseKind: own }] : []),
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
  const served = kindsOf(kinds, group, version)
  const [first] = served
  if (!first) return undefined
  const resources = served.flatMap((kind) => [
    {
      name: kind.plural,
      singularName: kind.singular,
      namespaced: kind.namespaced,
      kind: kind.kind,
      verbs: verbsOf(kind),
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

/** All kinds of the core group (`/api`), or all of the others (`/apis`), in one answer. */
export function aggregatedDiscovery(kinds: readonly Kind[], root: 'api' | 'apis'): Record<string, unknown> {
  const groups = root === 'api' ? [''] : groupNames(kinds)
  const items = groups.map((group) => ({
    metadata: group === '' ? {} : { name: group },
    versions: versionsOf(kinds, group).map((version) => ({
      version,
      resources: kindsOf(kinds, group, version).map((kind) => aggregatedResource(kind)),
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
    verbs: verbsOf(kind),
    ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
    ...(kind.categories.length > 0 && { categories: kind.categories }),
    ...(subresources.length > 0 && { subresources }),
  }
}

function kindsOf(kinds: readonly Kind[], group: string, version: string): Kind[] {
  return kinds
    .filter((kind) => kind.group === group && kind.version === version)
    .sort((left, right) => (left.plural < right.plural ? -1 : 1))
}

function groupNames(kinds: readonly Kind[]): string[] {
  return [...new Set(kinds.map(({ group }) => group))].filter((group) => group !== '').sort()
}

/** The newest and most stable first, because clients prefer the first. */
function versionsOf(kinds: readonly Kind[], group: string): string[] {
  const versions = new Set(kinds.filter((kind) => kind.group === group).map(({ version }) => version))
  return [...versions].sort(compareVersions)
}

/** Sorts `v2`, `v1`, `v1beta2`, `v1alpha1`, and then whatever does not have this form, by name. */
export function compareVersions(left: string, right: string): number {
  const one = versionRank(left)
  const other = versionRank(right)
  for (const [index, rank] of one.entries()) {
    const difference = (other[index] ?? 0) - rank
    if (difference !== 0) return difference
  }
  return left < right ? -1 : left > right ? 1 : 0
}

function versionRank(version: string): readonly number[] {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version)
  if (!match) return [0, 0, 0]
  const [, major = '0', stage, minor = '0'] = match
  return [stage === undefined ? 3 : stage === 'beta' ? 2 : 1, Number(major), Number(minor)]
}
