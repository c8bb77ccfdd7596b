import type { Quantity } from '../../resources/canonical-quantity.ts'
import { type JsonObject, valueAtPath } from '../../resources/json-value.ts'
import { type Amounts, amountsIn, one } from './amounts.ts'
import { containersIn, objectAt, podResources } from './pod-resources.ts'

/** Resources that Kubernetes counted before it could count everything, under their plain names. */
const countedByName = new Set([
  'configmaps',
  'persistentvolumeclaims',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'services',
])
/** If one of these is limited, every container must declare it, because it could not be counted otherwise. */
const mustBeSaid = ['cpu', 'limits.cpu', 'limits.memory', 'memory', 'requests.cpu', 'requests.memory']
const native = new Set(['cpu', 'memory', 'ephemeral-storage'])

/** What an object uses of its namespace's quotas. `resource` is `pods`, `deployments.apps` and so on. */
export function usageOf(resource: string, object: JsonObject): Amounts {
  const usage = new Map<string, Quantity>([[`count/${resource}`, one]])
  if (countedByName.has(resource)) usage.set(resource, one)
  switch (resource) {
    case 'pods':
      return new Map([...usage, ...podUsage(object)])
    case 'persistentvolumeclaims':
      return new Map([...usage, ...claimUsage(object)])
    case 'services':
      return new Map([...usage, ...serviceUsage(objectAt(object, 'spec'))])
    default:
      return usage
  }
}

/** Events are many and short-lived, so they are never counted. */
export function isCounted(resource: string): boolean {
  return resource !== 'events' && resource !== 'events.events.k8s.io'
}

/** Whether an update of an object can make it use more. */
export function canGrow(resource: string): boolean {
  return resource === 'services' || resource === 'persistentvolumeclaims'
}

/** Why the object cannot be counted against these limits; `undefined` when it can. */
export function unaccountable(resource: string, object: JsonObject, limited: ReadonlySet<string>): string | undefined {
  if (resource !== 'pods') return undefined
  const wanted = mustBeSaid.filter((name) => limited.has(name))
  const spec = objectAt(object, 'spec')
  const containers = [...containersIn(spec, 'containers'), ...containersIn(spec, 'initContainers')]
  const missing = wanted.flatMap((name) => {
    const silent = containers.filter((container) => !computeUsage(requestsOf(container), limitsOf(container)).has(name))
    const names = silent.map((container) => String(container['name'])).sort()
    return names.length === 0 ? [] : [`${name} for: ${names.join(',')}`]
  })
  return missing.length === 0 ? undefined : `must specify ${missing.join('; ')}`
}

function requestsOf(container: JsonObject): Amounts {
  return amountsIn(objectAt(container, 'resources')['requests'])
}

function limitsOf(container: JsonObject): Amounts {
  return amountsIn(objectAt(container, 'resources')['limits'])
}

/** A finished Pod uses no resources any more, but still counts as an object. */
function podUsage(pod: JsonObject): Amounts {
  const phase = valueAtPath(pod, ['status', 'phase'])
  if (phase === 'Succeeded' || phase === 'Failed') return new Map()
  return new Map([['pods', one], ...computeUsage(podResources(pod, 'requests'), podResources(pod, 'limits'))])
}

function computeUsage(requests: Amounts, limits: Amounts): Map<string, Quantity> {
  const usage = new Map<string, Quantity>()
  for (const [name, quantity] of requests) {
    const isNative = native.has(name)
    const isHugePage = name.startsWith('hugepages-')
    if (isNative || isHugePage) usage.set(name, quantity)
    if (isNative || isHugePage || name.includes('/')) usage.set(`requests.${name}`, quantity)
  }
  for (const [name, quantity] of limits) if (native.has(name)) usage.set(`limits.${name}`, quantity)
  return usage
}

function claimUsage(claim: JsonObject): Map<string, Quantity> {
  const usage = new Map<string, Quantity>()
  const storage = amountsIn(valueAtPath(claim, ['spec', 'resources', 'requests'])).get('storage')
  const storageClass = objectAt(claim, 'spec')['storageClassName']
  if (storage) usage.set('requests.storage', storage)
  if (typeof storageClass !== 'string' || storageClass === '') return usage
  usage.set(`${storageClass}.storageclass.storage.k8s.io/persistentvolumeclaims`, one)
  if (storage) usage.set(`${storageClass}.storageclass.storage.k8s.io/requests.storage`, storage)
  return usage
}

function serviceUsage({ type, ports }: JsonObject): Map<string, Quantity> {
  const usage = new Map<string, Quantity>()
  if (type === 'LoadBalancer') usage.set('services.loadbalancers', one)
  if (type !== 'LoadBalancer' && type !== 'NodePort') return usage
  const count = Array.isArray(ports) ? ports.length : 0
  return usage.set('services.nodeports', { amount: one.amount * BigInt(count), format: 'decimal' })
}
