import { type JsonObject, isJsonObject } from './json-value.ts'
import type { Envelope } from './kind-facts.ts'

/** Completes a Pod beyond what a template has; a new one also gets what admission adds. */
export function completePod(object: Envelope, previous: JsonObject | undefined): Envelope {
  const { spec } = object
  if (!isJsonObject(spec)) return object
  const containers = mapObjects(spec['containers'], requestLimits)
  const initContainers = mapObjects(spec['initContainers'], requestLimits)
  const account = spec['serviceAccountName'] || spec['serviceAccount']
  const completed = {
    enableServiceLinks: true,
    ...spec,
    ...(containers && { containers }),
    ...(initContainers && { initContainers }),
    ...(account ? { serviceAccountName: account, serviceAccount: account } : {}),
  }
  return { ...object, spec: previous === undefined ? admitted(completed) : completed }
}

/** A limit without a request becomes the request, because the scheduler counts requests. */
function requestLimits(container: JsonObject): JsonObject {
  const { resources } = container
  if (!isJsonObject(resources) || !isJsonObject(resources['limits'])) return container
  const requests = { ...resources['limits'], ...(isJsonObject(resources['requests']) ? resources['requests'] : {}) }
  return { ...container, resources: { ...resources, requests } }
}

/**
 * What the usual admission plugins of a real API server add: a priority, and tolerations for a node that is away for a
 * while.
 */
function admitted(spec: JsonObject): JsonObject {
  const given: unknown[] = Array.isArray(spec['tolerations']) ? spec['tolerations'] : []
  const tolerates = (key: string) =>
    given.some((toleration) => isJsonObject(toleration) && (!toleration['key'] || toleration['key'] === key))
  const added = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
    .filter((key) => !tolerates(key))
    .map((key) => ({ effect: 'NoExecute', key, operator: 'Exists', tolerationSeconds: 300 }))
  const defaults = { priority: 0, preemptionPolicy: 'PreemptLowerPriority' }
  return { ...defaults, ...spec, tolerations: [...given, ...added] }
}

export function mapObjects(list: unknown, change: (item: JsonObject) => JsonObject): unknown[] | undefined {
  if (!Array.isArray(list)) return undefined
  return list.map((item: unknown) => (isJsonObject(item) ? change(item) : item))
}
