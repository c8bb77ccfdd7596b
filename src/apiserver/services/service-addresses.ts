import { plainAddress } from '../../resources/address-range.ts'
import { invalid } from '../../resources/field-error.ts'
import { type Kind, resourceNameOf } from '../../resources/kind.ts'
import { type KubernetesObject, keyOf, refOf } from '../../resources/kubernetes-object.ts'
import { StatusError, invalidObject } from '../../resources/status-error.ts'
import { textIn, textsIn } from '../../resources/validation/json-access.ts'
import type { Store } from '../../store/store.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../admission/admission.ts'
import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'
import { AddressRange, type FamilyName } from './address-range.ts'
import { familyOf, settleFamilies } from './service-families.ts'

export interface ServiceAddressesOptions {
  readonly store: Store
  /** `127.128.0.0/9`; a second one must be of the other family. */
  readonly ranges: readonly string[]
  readonly random?: () => number
}

/** Gives every Service an address of each of its families, unless it wants none. No two Services ever have the same. */
export class ServiceAddresses implements AdmissionPlugin {
  readonly #ranges: ReadonlyMap<FamilyName, AddressRange>
  readonly #random: () => number
  readonly #byService = new Map<string, readonly string[]>()
  readonly #taken = new Set<string>()
  /** Addresses of writes in progress. */
  readonly #held = new Set<string>()

  constructor({ store, ranges, random = Math.random }: ServiceAddressesOptions) {
    const parsed = ranges.map((text) => new AddressRange(text))
    this.#ranges = new Map(parsed.map((range) => [range.family, range]))
    this.#random = random
    for (const { object } of store.list({ resource: 'services' }).items) this.#remember(object, addressesOf(object))
  }

  complete({ operation, kind, object, previous }: AdmissionRequest): KubernetesObject {
    const { spec } = object
    if (operation === 'delete' || !isService(kind) || !isJsonObject(spec) || isOutside(spec)) return object
    const before = isJsonObject(previous?.['spec']) && !isOutside(previous['spec']) ? previous['spec'] : undefined
    const settled = settleFamilies({ spec, before, configured: [...this.#ranges.keys()] })
    if ('errors' in settled) throw invalidObject(kind, object.metadata.name, settled.errors)
    const next = this.#withAddresses(settled.spec)
    return next === spec ? object : { ...object, spec: next }
  }

  hold({ operation, kind, object, previous }: AdmissionRequest): (() => void) | undefined {
    if (operation === 'delete' || !isService(kind)) return undefined
    const before = new Set(previous ? addressesOf(previous) : [])
    const added = addressesOf(object).filter((address) => !before.has(address))
    for (const address of added) {
      if (!this.#ranges.get(familyOf(address))?.contains(address)) {
        throw refused(kind, object, address, 'the provided network does not match the current range')
      }
      if (this.#isTaken(address)) throw refused(kind, object, address, 'provided IP is already allocated')
    }
    for (const address of added) this.#held.add(address)
    return () => {
      for (const address of added) this.#held.delete(address)
    }
  }

  changed(kind: Kind, object: KubernetesObject, gone: boolean): void {
    if (isService(kind)) this.#remember(object, gone ? [] : addressesOf(object))
  }

  /** Its present addresses, and new ones for its further families. */
  #withAddresses(spec: JsonObject): JsonObject {
    const given = textsIn(spec, 'clusterIPs')
    if (textIn(spec, 'clusterIP') === 'None') return spec
    const missing = textsIn(spec, 'ipFamilies').slice(given.length)
    if (missing.length === 0) return spec
    const clusterIPs = [...given, ...missing.map((family) => this.#pick(family))]
    return { ...spec, clusterIP: clusterIPs[0], clusterIPs }
  }

  #pick(family: string): string {
    const range = [...this.#ranges.values()].find((one) => one.family === family)
    const address = range?.pick((one) => this.#isTaken(one), this.#random())
    if (address !== undefined) return address
    throw new StatusError('InternalError', 'failed to allocate a serviceIP: range is full')
  }

  #isTaken(address: string): boolean {
    const plain = plainAddress(address) ?? address
    return this.#taken.has(plain) || this.#held.has(plain)
  }

  #remember(service: KubernetesObject, addresses: readonly string[]): void {
    const key = keyOf(refOf(service))
    for (const address of this.#byService.get(key) ?? []) this.#taken.delete(address)
    this.#byService.delete(key)
    if (addresses.length === 0) return
    this.#byService.set(key, addresses)
    for (const address of addresses) this.#taken.add(address)
  }
}

function isService(kind: Kind): boolean {
  return resourceNameOf(kind) === 'services'
}

function isOutside({ type }: JsonObject): boolean {
  return type === 'ExternalName'
}

/** In canonical form, because the same address can be written in several ways. */
function addressesOf({ spec }: KubernetesObject): readonly string[] {
  if (!isJsonObject(spec)) return []
  const list = textsIn(spec, 'clusterIPs')
  return (list.length > 0 ? list : [textIn(spec, 'clusterIP')]).flatMap((address) => plainAddress(address) ?? [])
}

function refused(kind: Kind, object: KubernetesObject, address: string, why: string): StatusError {
  const spec = isJsonObject(object['spec']) ? object['spec'] : {}
  const error = invalid('spec.clusterIPs', textsIn(spec, 'clusterIPs'), `failed to allocate IP ${address}: ${why}`)
  return invalidObject(kind, object.metadata.name, [error])
}
