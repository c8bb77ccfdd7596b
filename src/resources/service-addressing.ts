import { type JsonObject, isJsonObject, sameJson } from './json-value.ts'
import type { Envelope } from './kind-facts.ts'
import { specOf } from './update-rules.ts'

/** What a Service of the type ExternalName has no use for. */
const addressFields = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy']

/**
 * What a Service says about its addresses, completed as far as it can be without giving one out: an address once given
 * stays when an update does not mention it, and goes when the Service becomes a mere name for something outside.
 */
export function addressService(object: Envelope, previous: JsonObject | undefined): Envelope {
  const spec = specOf(object)
  const before = specOf(previous)
  const kept = previous === undefined ? spec : isOutside(spec) ? withoutUnchanged(spec, before) : withKept(spec, before)
  return { ...object, spec: isOutside(kept) ? kept : withFamilies(kept) }
}

function withKept(spec: JsonObject, before: JsonObject): JsonObject {
  if (isOutside(before)) return spec
  const { clusterIP, clusterIPs } = spec
  const listUnchanged = clusterIPs === undefined || sameJson(clusterIPs, before['clusterIPs'])
  if (!listUnchanged) return spec
  if (!clusterIP) return { ...spec, clusterIP: before['clusterIP'], clusterIPs: before['clusterIPs'] }
  return clusterIP === before['clusterIP'] ? spec : { ...spec, clusterIPs: [clusterIP] }
}

function withoutUnchanged(spec: JsonObject, before: JsonObject): JsonObject {
  if (isOutside(before)) return spec
  const dropped = addressFields.filter((field) => sameJson(spec[field], before[field]))
  return Object.fromEntries(Object.entries(spec).filter(([field]) => !dropped.includes(field)))
}

function withFamilies(spec: JsonObject): JsonObject {
  const { clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy, selector } = spec
  const addresses = clusterIPs ?? (clusterIP ? [clusterIP] : undefined)
  // Nobody says which addresses a Service without address and selector leads to: they may be of any family.
  const anything = clusterIP === 'None' && !isJsonObject(selector) && ipFamilies === undefined
  const policy = ipFamilyPolicy ?? (anything ? 'RequireDualStack' : 'SingleStack')
  return {
    ...spec,
    ...(addresses === undefined ? {} : { clusterIPs: addresses }),
    ipFamilies: ipFamilies ?? (anything && policy !== 'SingleStack' ? ['IPv4', 'IPv6'] : ['IPv4']),
    ipFamilyPolicy: policy,
  }
}

function isOutside({ type }: JsonObject): boolean {
  return type === 'ExternalName'
}
