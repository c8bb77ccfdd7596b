import type { Kind } from '../resources/kind.ts'
import { type Envelope } from './object-decode.ts'
import { type JsonObject, isJsonObject } from './json-value.ts'

/** What a core kind gets on its way in beyond its schema's defaults: values that follow from other fields. */
export function completeObject(kind: Kind, object: Envelope): Envelope {
  if (kind.group !== '') return object
  switch (kind.kind) {
    case 'Secret':
      return foldStringData(object)
    case 'Pod':
      return completePod(object)
    case 'Service':
      return completeService(object)
    case 'Namespace':
      return labelNamespace(object)
    default:
      return object
  }
}

/** The status an object begins with. What the client sent counts only for Nodes, which register themselves with it. */
export function initialStatus(kind: Kind, sent: unknown): unknown {
  if (kind.group !== '') return undefined
  switch (kind.kind) {
    case 'Pod':
      return { phase: 'Pending' }
    case 'Namespace':
      return { phase: 'Active' }
    case 'PersistentVolumeClaim':
      return { phase: 'Pending' }
    case 'Service':
      return { loadBalancer: {} }
    case 'Node':
      return sent
    default:
      return undefined
  }
}

/** The namespace's content goes before it does: the finalizer is taken by whoever has emptied it. */
export const namespaceFinalizer = 'kubernetes'

function foldStringData(object: Envelope): Envelope {
  const { stringData, ...rest } = object
  if (!isJsonObject(stringData)) return object
  const folded: Record<string, unknown> = { ...(isJsonObject(object['data']) ? object['data'] : {}) }
  for (const [key, value] of Object.entries(stringData)) {
    // What is not a string is left for the schema to refuse under its own name.
    if (typeof value !== 'string') return object
    folded[key] = Buffer.from(value, 'utf8').toString('base64')
  }
  return { ...rest, apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata, data: folded }
}

function labelNamespace(object: Envelope): Envelope {
  const { name, labels } = object.metadata
  const label = typeof name === 'string' ? { 'kubernetes.io/metadata.name': name } : {}
  return { ...object, metadata: { ...object.metadata, labels: { ...(isJsonObject(labels) ? labels : {}), ...label } } }
}

function completeService(object: Envelope): Envelope {
  const { spec } = object
  if (!isJsonObject(spec)) return object
  const ports = mapObjects(spec['ports'], (port) => ({ ...port, targetPort: port['targetPort'] ?? port['port'] }))
  return { ...object, spec: { sessionAffinity: 'None', ...spec, ...(ports && { ports }) } }
}

function completePod(object: Envelope): Envelope {
  const { spec } = object
  if (!isJsonObject(spec)) return object
  const containers = mapObjects(spec['containers'], completeContainer)
  const initContainers = mapObjects(spec['initContainers'], completeContainer)
  const defaults = { dnsPolicy: 'ClusterFirst', schedulerName: 'default-scheduler', securityContext: {} }
  return {
    ...object,
    spec: { ...defaults, ...spec, ...(containers && { containers }), ...(initContainers && { initContainers }) },
  }
}

function completeContainer(container: JsonObject): JsonObject {
  const { image, resources } = container
  const pullAlways = typeof image === 'string' && (image.endsWith(':latest') || !/:[^/]+$|@/.test(image))
  const defaults = {
    imagePullPolicy: pullAlways ? 'Always' : 'IfNotPresent',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  }
  return {
    ...defaults,
    ...container,
    resources: isJsonObject(resources) ? requestLimits(resources) : (resources ?? {}),
  }
}

/** What is limited but not requested is requested up to the limit: the scheduler counts requests. */
function requestLimits(resources: JsonObject): JsonObject {
  const { limits, requests } = resources
  if (!isJsonObject(limits)) return resources
  return { ...resources, requests: { ...limits, ...(isJsonObject(requests) ? requests : {}) } }
}

function mapObjects(list: unknown, change: (item: JsonObject) => JsonObject): unknown[] | undefined {
  if (!Array.isArray(list)) return undefined
  return list.map((item: unknown) => (isJsonObject(item) ? change(item) : item))
}
