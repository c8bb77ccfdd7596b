import type { ObjectCache } from '../cluster/informer.ts'
import { SluiceError } from '../foundation/errors.ts'
import { clusterIdPattern } from '../resources/cluster.ts'
import type { ComputeCenter } from '../resources/compute-center.ts'
import type { ClusterDirectory, ClusterView } from './cluster-directory.ts'
import { computeCenterEntries } from './compute-center-entry.ts'
import type { Caller, ManagementAccess } from './management-access.ts'
import type { RememberedDetails } from './remembered-details.ts'
import { usageAnswer } from './usage-answer.ts'

export interface ManagementRequest extends Caller {
  readonly method: string
  /** The request target as received: path and query. */
  readonly target: string
}

export interface ManagementResources {
  readonly access: ManagementAccess
  readonly centers: ObjectCache<ComputeCenter>
  readonly clusters: ClusterDirectory
  readonly details: RememberedDetails
  now(): number
}

export type RouteName =
  | 'cluster'
  | 'usage'
  | 'centers'
  | 'openapi'
  | 'console'
  | 'healthz'
  | 'readyz'
  | 'metrics'
  | 'unknown'

export interface Route {
  readonly name: RouteName
  /** For the routes of a cluster: its ID, still encoded. */
  readonly segment?: string
}

export const allowedMethods: readonly string[] = ['GET', 'HEAD']

const clusterPrefix = '/api/vks/v1/'
const usageSuffix = '/usage'

/** The list of allowed routes. Paths are compared as they are, without normalizing dots, slashes or case. */
export function routeOf(target: string): Route {
  const path = pathOf(target)
  if (path === '/healthz') return { name: 'healthz' }
  if (path === '/readyz') return { name: 'readyz' }
  if (path === '/metrics') return { name: 'metrics' }
  if (path === '/openapi.json') return { name: 'openapi' }
  if (path === '/api/aidc/v1/list') return { name: 'centers' }
  const segment = path.startsWith(clusterPrefix) ? path.slice(clusterPrefix.length) : undefined
  if (segment === undefined) return { name: 'unknown' }
  const name = segment.endsWith(usageSuffix) ? 'usage' : 'cluster'
  const id = name === 'usage' ? segment.slice(0, -usageSuffix.length) : segment
  return id.includes('/') ? { name: 'unknown' } : { name, segment: id }
}

/** Returns the `data` of the answer. Throws if the request is refused. */
export function answerApi(request: ManagementRequest, route: Route, resources: ManagementResources): unknown {
  if (route.name === 'unknown') throw new SluiceError('management_route_not_found', { path: pathOf(request.target) })
  if (!allowedMethods.includes(request.method)) {
    const details = { path: pathOf(request.target), method: request.method, allowed: allowedMethods.join(', ') }
    throw new SluiceError('method_not_allowed', details)
  }
  // Checked before anything else, so that strangers learn nothing, not even what an ID looks like.
  const enterprise = resources.access.authenticate(request)
  if (route.name === 'centers') return computeCenterEntries(resources.centers.list(), enterprise)
  const view = findCluster(clusterIdOf(route.segment ?? ''), enterprise, resources)
  if (route.name === 'usage') return usageAnswer(queryOf(request.target), view.usage?.list() ?? [], resources.now())
  const { cluster, nodes, pods } = view
  const answers = nodes.synced && pods.synced && (view.answers?.() ?? true)
  return resources.details.of(cluster, nodes.list(), pods.list(), answers)
}

function findCluster(id: string, enterprise: string, { clusters }: ManagementResources): ClusterView {
  const view = clusters.find(id)
  // Another enterprise's cluster is refused with the same words as one that does not exist.
  if (view === undefined || view.cluster.spec.enterprise !== enterprise)
    throw new SluiceError('cluster_not_found', { id })
  return view
}

function clusterIdOf(segment: string): string {
  const id = decoded(segment)
  if (id === undefined || !clusterIdPattern.test(id)) throw new SluiceError('cluster_id_malformed')
  return id
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

/** Proxies may send an absolute URL. Its host does not matter, since the request has reached us. */
export function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '') || '/'
}

export function queryOf(target: string): string {
  return /\?([^#]*)/.exec(target)?.[1] ?? ''
}
