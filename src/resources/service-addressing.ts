import { isIPv6 } from 'node:net'
import { type JsonObject, isJsonObject, sameJson } from './json-value.ts'
import type { Envelope } from './kind-facts.ts'
import { specOf } from './update-rules.ts'
import { textIn, textsIn } from './validation/json-access.ts'

/** Fields that a Service of type ExternalName does not have. */
const addressFields = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy']

/**
 * Completes what a Service says about its addresses, as far as possible without assigning one: an assigned address
 * stays when an update does not mention it, and goes when the Service becomes a mere name for something outside.
 */
export function addressService(object: Envelope, previous: JsonObject | undefined): Envelope {
  const spec = specOf(object)
  const before = specOf(previous)
  const kept = previous === undefined ? spec : isOutside(spec) ? withoutUnchanged(spec, before) : withKept(spec, before)
  return { ...object, spec: isOutside(kept) ? kept : withFamilies(kept, isOutside(before) ? {} : before) }
}

function withKept(spec: JsonObject, before: JsonObject): JsonObject {
  if (isOutside(before)) return spec
  const { clusterIP, clusterIPs } = spec
  const listUnchanged = clusterIPs === undefined || sameJson(clusterIPs, before['clusterIPs'])
  if (!listUnchanged) return spec
  if (!clusterIP) return { ...spec, clusterIP: before['clusterIP'], clusterIPs: before['clusterIPs'] }
  return clusterIP === before['clusterIP']
    ? { ...spec, clusterIPs: before['clusterIPs'] ?? [clusterIP] }
    : { ...spec, clusterIPs: [clusterIP] }
}

function withoutUnchanged(spec: JsonObject, before: JsonObject): JsonObject {
  if (isOutside(before)) return spec
  const dropped = addressFields.filter((field) => sameJson(spec[field], before[field]))
  return Object.fromEntries(Object.entries(spec).filter(([field]) => !dropped.includes(field)))
}

function withFamilies(spec: JsonObject, before: JsonObject): JsonObject {
  const { clusterIP, clusterIPs, selector } = spec
  const addresses = clusterIPs ?? (clusterIP ? [clusterIP] : undefined)
  const addressed = addresses === undefined ? spec : { ...spec, clusterIPs: addresses }
  // A Service without address and selector may lead anywhere, so it may have any family.
  const forAnybody = clusterIP === 'None' && !isJsonObject(selector) && spec['ipFamilies'] === undefined
  const policy = spec['ipFamilyPolicy'] ?? before['ipFamilyPolicy'] ?? (forAnybody ? 'RequireDualStack' : 'SingleStack')
  return { ...addressed, ...familiesFor(addressed, forAnybody && policy !== 'SingleStack'), ipFamilyPolicy: policy }
}

/** Which other families than IPv4 there are is up to the cluster. */
function familiesFor(spec: JsonObject, both: boolean): { ipFamilies?: unknown } {
  if (spec['ipFamilies'] !== undefined) return {}
  if (both) return { ipFamilies: ['IPv4', 'IPv6'] }
  return [...textsIn(spec, 'clusterIPs'), textIn(spec, 'clusterIP')].some(isIPv6) ? {} : { ipFamilies: ['IPv4'] }
}

function isOutside({ type }: JsonObject): boolean {
  return type === 'ExternalName'
}
