import { rbacGroup } from './role-objects.ts'

/** The roles that every cluster starts with, under Kubernetes' own names, and those that extend them to our kinds. */

interface BootstrapRule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

export interface BootstrapRole {
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
  readonly rules?: readonly BootstrapRule[]
  /** The role is the sum of all roles with this label. */
  readonly sumOf?: string
}

export interface BootstrapBinding {
  readonly name: string
  readonly groups: readonly string[]
}

const read = ['get', 'list', 'watch']
const write = ['create', 'delete', 'deletecollection', 'patch', 'update']
const aggregateTo = (role: string) => `rbac.authorization.k8s.io/aggregate-to-${role}`
const partOf = (role: string) => ({ [aggregateTo(role)]: 'true' })
const resources = (group: string, verbs: readonly string[], ...names: readonly string[]): BootstrapRule => {
  return { verbs, apiGroups: [group], resources: names }
}
const urls = (...names: readonly string[]): BootstrapRule => ({ verbs: ['get'], nonResourceURLs: names })
const publicUrls = ['/healthz', '/livez', '/readyz', '/version', '/version/']
const appsWithScale = [
  'deployments',
  'deployments/scale',
  'replicasets',
  'replicasets/scale',
  'statefulsets',
  'statefulsets/scale',
]

export const bootstrapRoles: readonly BootstrapRole[] = [
  {
    name: 'cluster-admin',
    rules: [resources('*', ['*'], '*'), { verbs: ['*'], nonResourceURLs: ['*'] }],
  },
  { name: 'admin', sumOf: aggregateTo('admin') },
  { name: 'edit', labels: partOf('admin'), sumOf: aggregateTo('edit') },
  { name: 'view', labels: partOf('edit'), sumOf: aggregateTo('view') },
  {
    name: 'system:aggregate-to-admin',
    labels: partOf('admin'),
    rules: [
      resources('authorization.k8s.io', ['create'], 'localsubjectaccessreviews'),
      resources(rbacGroup, [...read, ...write], 'rolebindings', 'roles'),
    ],
  },
  {
    name: 'system:aggregate-to-edit',
    labels: partOf('edit'),
    rules: [
      resources('', read, 'pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy', 'secrets', 'services/proxy'),
      resources('', ['impersonate'], 'serviceaccounts'),
      resources('', write, 'pods', 'pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy'),
      resources('', ['create'], 'pods/eviction'),
      resources(
        '',
        write,
        'configmaps',
        'events',
        'persistentvolumeclaims',
        'secrets',
        'serviceaccounts',
        'services',
        'services/proxy',
      ),
      resources('', ['create'], 'serviceaccounts/token'),
      resources('apps', write, ...appsWithScale),
      resources('batch', write, 'jobs'),
      resources('coordination.k8s.io', [...read, ...write], 'leases'),
      resources('networking.k8s.io', write, 'ingresses', 'networkpolicies'),
    ],
  },
  {
    name: 'system:aggregate-to-view',
    labels: partOf('view'),
    rules: [
      resources(
        '',
        read,
        'configmaps',
        'endpoints',
        'persistentvolumeclaims',
        'persistentvolumeclaims/status',
        'pods',
        'serviceaccounts',
        'services',
        'services/status',
      ),
      resources(
        '',
        read,
        'bindings',
        'events',
        'namespaces/status',
        'pods/log',
        'pods/status',
        'resourcequotas',
        'resourcequotas/status',
      ),
      resources('', read, 'namespaces'),
      resources('discovery.k8s.io', read, 'endpointslices'),
      resources(
        'apps',
        read,
        'controllerrevisions',
        ...appsWithScale,
        'deployments/status',
        'replicasets/status',
        'statefulsets/status',
      ),
      resources('batch', read, 'jobs', 'jobs/status'),
      resources('networking.k8s.io', read, 'ingresses', 'ingresses/status', 'networkpolicies'),
    ],
  },
  {
    name: 'sluice:aggregate-to-edit',
    labels: partOf('edit'),
    rules: [resources('sluice.dev', write, 'models', 'models/scale', 'serviceexporters')],
  },
  {
    name: 'sluice:aggregate-to-view',
    labels: partOf('view'),
    rules: [
      resources(
        'sluice.dev',
        read,
        'models',
        'models/scale',
        'models/status',
        'serviceexporters',
        'serviceexporters/status',
        'usagerecords',
      ),
    ],
  },
  {
    // As who installs Kubernetes' metrics server gets it.
    name: 'system:aggregated-metrics-reader',
    labels: { ...partOf('admin'), ...partOf('edit'), ...partOf('view') },
    rules: [resources('metrics.k8s.io', read, 'nodes', 'pods')],
  },
  {
    name: 'system:auth-delegator',
    rules: [
      resources('authentication.k8s.io', ['create'], 'tokenreviews'),
      resources('authorization.k8s.io', ['create'], 'subjectaccessreviews'),
    ],
  },
  {
    name: 'system:basic-user',
    rules: [
      resources('authorization.k8s.io', ['create'], 'selfsubjectaccessreviews', 'selfsubjectrulesreviews'),
      resources('authentication.k8s.io', ['create'], 'selfsubjectreviews'),
    ],
  },
  {
    name: 'system:discovery',
    rules: [urls('/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*', ...publicUrls)],
  },
  {
    name: 'system:monitoring',
    rules: [
      urls('/healthz', '/healthz/*', '/livez', '/livez/*', '/metrics', '/metrics/slis', '/readyz', '/readyz/*'),
      resources('', ['get'], 'nodes/metrics'),
    ],
  },
  { name: 'system:public-info-viewer', rules: [urls(...publicUrls)] },
  {
    name: 'system:service-account-issuer-discovery',
    rules: [
      urls(
        '/.well-known/openid-configuration',
        '/.well-known/openid-configuration/',
        '/openid/v1/jwks',
        '/openid/v1/jwks/',
      ),
    ],
  },
]

/** Each binds the role of its own name. */
export const bootstrapBindings: readonly BootstrapBinding[] = [
  { name: 'cluster-admin', groups: ['system:masters'] },
  { name: 'system:basic-user', groups: ['system:authenticated'] },
  { name: 'system:discovery', groups: ['system:authenticated'] },
  { name: 'system:monitoring', groups: ['system:monitoring'] },
  { name: 'system:public-info-viewer', groups: ['system:authenticated', 'system:unauthenticated'] },
  { name: 'system:service-account-issuer-discovery', groups: ['system:serviceaccounts'] },
]
