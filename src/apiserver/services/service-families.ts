import { isIPv6 } from 'node:net'
import { type FieldError, invalid } from '../../resources/field-error.ts'
import { textIn, textsIn } from '../../resources/validation/json-access.ts'
import { type JsonObject, isJsonObject, sameJson } from '../../resources/json-value.ts'
import type { FamilyName } from './address-range.ts'

export interface FamilyChange {
  readonly spec: JsonObject
  /** The previous spec, if the Service existed and had addresses. */
  readonly before?: JsonObject | undefined
  /** The families of the cluster, the primary one first. */
  readonly configured: readonly FamilyName[]
}

export type FamilyOutcome = { readonly spec: JsonObject } | { readonly errors: readonly FieldError[] }

/**
 * Decides as Kubernetes does which families a Service has in this cluster, and which of its addresses stay. It changes
 * between one and two families when its policy says so, never because the cluster has changed.
 */
export function settleFamilies({ spec, before, configured }: FamilyChange): FamilyOutcome {
  if (before && isUntouched(spec, before)) return { spec }
  const kept = before ? released(spec, before) : spec
  const addresses = addressesIn(kept)
  const errors = [...superfluous(kept, addresses), ...unknownAddresses(kept, addresses, configured)]
  if (errors.length > 0) return { errors }
  const inferred = [...familiesIn(kept), ...addresses.map(familyOf).slice(familiesIn(kept).length)]
  if (isForAnybody(kept)) return { spec: { ...kept, ipFamilies: withOther(kept, orFirst(inferred, ['IPv4'])) } }
  const missing = [...undoable(kept, configured), ...missingFamilies(inferred, configured)]
  if (missing.length > 0) return { errors: missing }
  const families = orFirst(inferred, configured)
  return { spec: { ...kept, ipFamilies: configured.length === 2 ? withOther(kept, families) : families } }
}

/** Whether the update changes nothing about families: then they stay, whatever the cluster has by now. */
function isUntouched(spec: JsonObject, before: JsonObject): boolean {
  const prefers = (one: JsonObject) => one['ipFamilyPolicy'] === 'PreferDualStack'
  const same = ['clusterIPs', 'ipFamilies', 'type'].every((field) => sameJson(spec[field], before[field]))
  return prefers(spec) && prefers(before) && same
}

/** An update that only asks for a single family drops the second one and its address. */
function released(spec: JsonObject, before: JsonObject): JsonObject {
  if (policyOf(spec) !== 'SingleStack') return spec
  const first = (field: string) => {
    const values = textsIn(spec, field)
    return values.length > 1 && sameJson(spec[field], before[field]) ? { [field]: values.slice(0, 1) } : {}
  }
  return { ...spec, ...first('clusterIPs'), ...first('ipFamilies') }
}

function superfluous(spec: JsonObject, addresses: readonly string[]): FieldError[] {
  if (policyOf(spec) !== 'SingleStack') return []
  const refused = (what: string) =>
    invalid(
      'spec.ipFamilyPolicy',
      policyOf(spec),
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
    )
  return [
    ...(addresses.length === 2 ? [refused('cluster IPs')] : []),
    ...(familiesIn(spec).length === 2 ? [refused('IP families')] : []),
  ]
}

function unknownAddresses(
  spec: JsonObject,
  addresses: readonly string[],
  configured: readonly FamilyName[],
): FieldError[] {
  const said = familiesIn(spec).length
  return addresses.flatMap((address, index) => {
    const family = familyOf(address)
    if (index < said || configured.includes(family)) return []
    return [invalid(`spec.clusterIPs[${index}]`, addresses, `${family} is not configured on this cluster`)]
  })
}

function undoable(spec: JsonObject, configured: readonly FamilyName[]): FieldError[] {
  if (policyOf(spec) !== 'RequireDualStack' || configured.length === 2) return []
  return [invalid('spec.ipFamilyPolicy', policyOf(spec), 'this cluster is not configured for dual-stack services')]
}

function missingFamilies(families: readonly string[], configured: readonly FamilyName[]): FieldError[] {
  return families.flatMap((family, index) => {
    if (configured.some((one) => one === family)) return []
    return [invalid(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster')]
  })
}

/** A Service without address and selector may lead anywhere, so it may have any family. */
function isForAnybody(spec: JsonObject): boolean {
  const { selector } = spec
  const selects = isJsonObject(selector) && Object.keys(selector).length > 0
  return textIn(spec, 'clusterIP') === 'None' && !selects
}

function withOther(spec: JsonObject, families: readonly string[]): readonly string[] {
  if (policyOf(spec) === 'SingleStack' || families.length !== 1) return families
  return [...families, families[0] === 'IPv4' ? 'IPv6' : 'IPv4']
}

function orFirst(families: readonly string[], configured: readonly FamilyName[]): readonly string[] {
  return families.length > 0 ? families : configured.slice(0, 1)
}

function addressesIn(spec: JsonObject): readonly string[] {
  return textsIn(spec, 'clusterIPs').filter((address) => address !== 'None')
}

function familiesIn(spec: JsonObject): readonly string[] {
  return textsIn(spec, 'ipFamilies')
}

function policyOf(spec: JsonObject): string {
  return textIn(spec, 'ipFamilyPolicy')
}

export function familyOf(address: string): FamilyName {
  return isIPv6(address) ? 'IPv6' : 'IPv4'
}
