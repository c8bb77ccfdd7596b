import type { Kind } from '../../resources/kind.ts'
import { canonicalQuantity } from '../../resources/canonical-quantity.ts'
import { podQualityOfService } from '../../resources/pod-quality.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { completeDefinition } from '../custom-resources/definition-defaults.ts'
import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'
import type { Envelope } from './object-decode.ts'
import { addressService } from '../services/service-addressing.ts'
import { withTypeDefaults } from './type-defaults.ts'

/** The namespace's content goes before it does: the finalizer is taken by whoever has emptied it. */
export const namespaceFinalizer = 'kubernetes'

/** What a core kind gets on its way in: the defaults of its types, values in their usual form, and what follows from other fields. */
export function completeObject(kind: Kind, object: Envelope, previous?: JsonObject): Envelope {
  if (kind.unknownFields !== 'keep') return object
  const folded = kind.group === '' && kind.kind === 'Secret' ? foldStringData(object) : object
  const fields = kind.fields()
  const name = fields['x-sluice-type-name']
  const completed = completeFields(fields, name === undefined ? folded : withTypeDefaults(name, folded), previous, true)
  const { apiVersion, metadata } = object
  const whole = completed === object ? object : { ...completed, apiVersion, kind: object.kind, metadata }
  return completions[`${kind.group}/${kind.kind}`]?.(whole, previous) ?? whole
}

/** The same for an object that is new: what is decided once. */
export function completeNewObject(kind: Kind, object: Envelope): Envelope {
  const completed = completeObject(kind, object)
  if (kind.group === 'batch' && kind.kind === 'Job') {
    return labelLikeTemplate(selectOwnPods({ ...completed, metadata: object.metadata }))
  }
  return kind.group === '' && kind.kind === 'Pod' ? admitPod(completed) : completed
}

/** The status an object begins with. What the client sent counts only for Nodes, which register themselves with it. */
export function initialStatus(kind: Kind, sent: unknown, object?: JsonObject): unknown {
  if (kind.unknownFields !== 'keep') return undefined
  switch (`${kind.group}/${kind.kind}`) {
    case '/Pod':
      return { phase: 'Pending', qosClass: podQualityOfService(object?.['spec']) }
    case '/Namespace':
      return { phase: 'Active' }
    case '/PersistentVolumeClaim':
    case '/PersistentVolume':
      return { phase: 'Pending' }
    case '/Service':
    case 'networking.k8s.io/Ingress':
      return { loadBalancer: {} }
    case '/Node':
      return sent ?? {}
    case 'apps/ReplicaSet':
      return { replicas: 0 }
    case 'apps/StatefulSet':
      return { replicas: 0, availableReplicas: 0 }
    default:
      return {}
  }
}

const completions: Readonly<Record<string, (object: Envelope, previous: JsonObject | undefined) => Envelope>> = {
  'apiextensions.k8s.io/CustomResourceDefinition': completeDefinition,
  '/Namespace': labelNamespace,
  '/Pod': completePod,
  '/Service': addressService,
  'apps/StatefulSet': completeClaimTemplates,
  'batch/Job': labelLikeTemplate,
}

const timeTypes: Readonly<Record<string, number>> = {
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': 0,
  'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': 6,
}

/**
 * Along the schema: type defaults before the fields, so that what they add is completed too. What does not fit is left for
 * validation. Nothing is copied where nothing is added, and what is the very same in `previous` was completed before.
 */
function completeValue(schema: StructuralSchema, value: unknown, previous?: unknown): unknown {
  const name = schema['x-sluice-type-name']
  if (schema.format === 'quantity') return quantityText(value)
  if (name !== undefined && typeof value === 'string') return timeText(value, timeTypes[name])
  if (Array.isArray(value)) return schema.items ? completeItems(schema.items, value) : value
  if (!isJsonObject(value) || value === previous) return value
  return completeFields(schema, name === undefined ? value : withTypeDefaults(name, value), previous)
}

function completeFields(
  schema: StructuralSchema,
  value: JsonObject,
  previous: unknown,
  exceptMetadata = false,
): JsonObject {
  const { properties, additionalProperties } = schema
  const others = typeof additionalProperties === 'object' ? additionalProperties : undefined
  const done = isJsonObject(previous) ? previous : nothing
  let result: Record<string, unknown> | undefined
  for (const field of Object.keys(value)) {
    const inner = value[field]
    if (inner === null || inner === done[field] || (exceptMetadata && field === 'metadata')) continue
    const known = properties?.[field] ?? others
    if (!known) continue
    const completed = completeValue(known, inner, done[field])
    const goes = isNothing(known, completed) && !isShownEmpty(schema, field)
    if (completed === inner && !goes) continue
    result ??= { ...value }
    if (goes) delete result[field]
    else result[field] = completed
  }
  for (const [field, given] of properties ? defaultsOf(properties) : []) {
    if ((result ?? value)[field] === undefined) (result ??= { ...value })[field] = given
  }
  return result ?? value
}

function completeItems(schema: StructuralSchema, items: readonly unknown[]): readonly unknown[] {
  let result: unknown[] | undefined
  for (const [index, item] of items.entries()) {
    const completed = completeValue(schema, item)
    if (completed !== item) (result ??= [...items])[index] = completed
  }
  return result ?? items
}

const nothing: JsonObject = {}
const knownDefaults = new WeakMap<object, ReadonlyArray<readonly [string, unknown]>>()

/** Worked out once for a schema: most fields have none, and objects come often. */
function defaultsOf(properties: Readonly<Record<string, StructuralSchema>>): ReadonlyArray<readonly [string, unknown]> {
  let defaults = knownDefaults.get(properties)
  if (!defaults) {
    defaults = Object.entries(properties).flatMap(([field, { default: given }]) =>
      given === undefined ? [] : [[field, given] as const],
    )
    knownDefaults.set(properties, defaults)
  }
  return defaults
}

/** Lists and maps in which there is nothing are not shown; to Kubernetes they are the same as none. Raw JSON stays as it is. */
function isNothing(schema: StructuralSchema, value: unknown): boolean {
  if (Array.isArray(value)) return schema.type === 'array' && value.length === 0
  return schema.additionalProperties !== undefined && isJsonObject(value) && Object.keys(value).length === 0
}

/** What is required, and the rules of a role: it may have none. */
function isShownEmpty(schema: StructuralSchema, field: string): boolean {
  return (
    schema.required?.includes(field) === true ||
    (field === 'rules' && roleTypes.has(schema['x-sluice-type-name'] ?? ''))
  )
}

const roleTypes = new Set(['io.k8s.api.rbac.v1.Role', 'io.k8s.api.rbac.v1.ClusterRole'])

function quantityText(value: unknown): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value
  return canonicalQuantity(String(value)) ?? value
}

const wholeSeconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

function timeText(value: string, digits: number | undefined): string {
  if (digits === undefined || (digits === 0 && wholeSeconds.test(value))) return value
  const at = new Date(value)
  if (Number.isNaN(at.getTime())) return value
  const fraction = (/\.(\d+)/.exec(value)?.[1] ?? '').padEnd(6, '0').slice(0, 6)
  return at.toISOString().replace(/\.\d+Z$/, digits === 0 ? 'Z' : `.${fraction}Z`)
}

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
  const { name } = object.metadata
  return typeof name === 'string' ? withLabels(object, { 'kubernetes.io/metadata.name': name }) : object
}

function withLabels(object: Envelope, added: Record<string, string>): Envelope {
  const { labels } = object.metadata
  return { ...object, metadata: { ...object.metadata, labels: { ...(isJsonObject(labels) ? labels : {}), ...added } } }
}

/** A real API server gives a Job the labels of its Pods when it has none of its own. */
function labelLikeTemplate(object: Envelope): Envelope {
  const labels = metadataOfTemplate(object)['labels']
  const own = object.metadata['labels']
  if (!isJsonObject(labels) || (isJsonObject(own) && Object.keys(own).length > 0)) return object
  // A name that is too long for a label is refused where it stands in the template.
  if (String(object.metadata['name']).length > 63) return object
  return { ...object, metadata: { ...object.metadata, labels } }
}

/** The Pods of a Job are told by the Job's uid, unless it says otherwise. */
function selectOwnPods(object: Envelope): Envelope {
  const spec = isJsonObject(object['spec']) ? object['spec'] : {}
  const { uid, name } = object.metadata
  if (spec['manualSelector'] === true || !isJsonObject(spec['template'])) return object
  const legacy = { 'controller-uid': uid, 'job-name': name }
  const own = { 'batch.kubernetes.io/controller-uid': uid, 'batch.kubernetes.io/job-name': name }
  const metadata = metadataOfTemplate(object)
  const labels = { ...(isJsonObject(metadata['labels']) ? metadata['labels'] : {}), ...own, ...legacy }
  const template = { ...spec['template'], metadata: { ...metadata, labels } }
  const matchLabels = { 'batch.kubernetes.io/controller-uid': uid }
  return { ...object, spec: { ...spec, selector: { matchLabels, ...selectorOf(spec) }, template } }
}

function selectorOf({ selector }: JsonObject): JsonObject {
  return isJsonObject(selector) ? selector : {}
}

function metadataOfTemplate(object: JsonObject): JsonObject {
  const spec = isJsonObject(object['spec']) ? object['spec'] : {}
  const template = isJsonObject(spec['template']) ? spec['template'] : {}
  return isJsonObject(template['metadata']) ? template['metadata'] : {}
}

function completeClaimTemplates(object: Envelope): Envelope {
  const { spec } = object
  if (!isJsonObject(spec)) return object
  const volumeClaimTemplates = mapObjects(spec['volumeClaimTemplates'], (claim) => ({
    ...claim,
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    status: { phase: 'Pending' },
  }))
  return volumeClaimTemplates ? { ...object, spec: { ...spec, volumeClaimTemplates } } : object
}

/** What belongs to a Pod but not to a template of one. */
function completePod(object: Envelope): Envelope {
  const { spec } = object
  if (!isJsonObject(spec)) return object
  const containers = mapObjects(spec['containers'], requestLimits)
  const initContainers = mapObjects(spec['initContainers'], requestLimits)
  const account = spec['serviceAccountName'] || spec['serviceAccount']
  return {
    ...object,
    spec: {
      enableServiceLinks: true,
      ...spec,
      ...(containers && { containers }),
      ...(initContainers && { initContainers }),
      ...(account ? { serviceAccountName: account, serviceAccount: account } : {}),
    },
  }
}

/** What is limited but not requested is requested up to the limit: the scheduler counts requests. */
function requestLimits(container: JsonObject): JsonObject {
  const { resources } = container
  if (!isJsonObject(resources) || !isJsonObject(resources['limits'])) return container
  const requests = { ...resources['limits'], ...(isJsonObject(resources['requests']) ? resources['requests'] : {}) }
  return { ...container, resources: { ...resources, requests } }
}

/** What the usual admission plugins of a real API server add: a priority, and patience with a node that is away for a while. */
function admitPod(object: Envelope): Envelope {
  const { spec } = object
  if (!isJsonObject(spec)) return object
  const given: unknown[] = Array.isArray(spec['tolerations']) ? spec['tolerations'] : []
  const tolerates = (key: string) =>
    given.some((toleration) => isJsonObject(toleration) && (!toleration['key'] || toleration['key'] === key))
  const added = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
    .filter((key) => !tolerates(key))
    .map((key) => ({ effect: 'NoExecute', key, operator: 'Exists', tolerationSeconds: 300 }))
  const defaults = { priority: 0, preemptionPolicy: 'PreemptLowerPriority' }
  return { ...object, spec: { ...defaults, ...spec, tolerations: [...given, ...added] } }
}

function mapObjects(list: unknown, change: (item: JsonObject) => JsonObject): unknown[] | undefined {
  if (!Array.isArray(list)) return undefined
  return list.map((item: unknown) => (isJsonObject(item) ? change(item) : item))
}
