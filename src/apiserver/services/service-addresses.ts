import { invalid } from '../../resources/field-error.ts'
import { type Kind, resourceNameOf } from '../../resources/kind.ts'
import { type KubernetesObject, keyOf, refOf } from '../../resources/kubernetes-object.ts'
import { StatusError, invalidObject } from '../../resources/status-error.ts'
import type { Store } from '../../store/store.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../admission/admission.ts'
import { isJsonObject, valueAtPath } from '../../resources/json-value.ts'
import { AddressRange } from './address-range.ts'

export interface ServiceAddressesOptions {
  readonly store: Store
  /** `127.128.0.0/9` */
  readonly range: string
  readonly random?: () => number
}

/** Gives every Service an address of its own, unless it wants none; no address is ever two Services'. */
export class ServiceAddresses implements AdmissionPlugin {
  readonly #range: AddressRange
  readonly #random: () => number
  readonly #byService = new Map<string, string>()
  readonly #taken = new Set<string>()
  /** Of writes that are under way. */
  readonly #held = new Set<string>()

  constructor({ store, range, random = Math.random }: ServiceAddressesOptions) {
    this.#range = new AddressRange(range)
    this.#random = random
    for (const { object } of store.list({ resource: 'services' }).items) this.#remember(object, addressOf(object))
  }

  complete({ operation, kind, object }: AdmissionRequest): KubernetesObject {
    const { spec } = object
    if (operation === 'delete' || !isService(kind) || !isJsonObject(spec)) return object
    if (spec['type'] === 'ExternalName' || spec['clusterIP']) return object
    const address = this.#range.pick((one) => this.#isTaken(one), this.#random())
    if (address === undefined) {
      throw new StatusError('InternalError', 'failed to allocate a serviceIP: range is full')
    }
    return { ...object, spec: { ...spec, clusterIP: address, clusterIPs: [address] } }
  }

  hold({ operation, kind, object, previous }: AdmissionRequest): (() => void) | undefined {
    if (operation === 'delete' || !isService(kind)) return undefined
    const address = addressOf(object)
    if (address === undefined || (previous && address === addressOf(previous))) return undefined
    if (!this.#range.contains(address)) {
      throw refused(kind, object, address, 'the provided network does not match the current range')
    }
    if (this.#isTaken(address)) throw refused(kind, object, address, 'provided IP is already allocated')
    this.#held.add(address)
    return () => void this.#held.delete(address)
  }

  changed(kind: Kind, object: KubernetesObject, gone: boolean): void {
    if (isService(kind)) this.#remember(object, gone ? undefined : addressOf(object))
  }

  #isTaken(address: string): boolean {
    return this.#taken.has(address) || this.#held.has(address)
  }

  #remember(service: KubernetesObject, address: string | undefined): void {
    const key = keyOf(refOf(service))
    const before = this.#byService.get(key)
    if (before !== undefined) this.#taken.delete(before)
    this.#byService.delete(key)
    if (address === undefined) return
    this.#byService.set(key, address)
    this.#taken.add(address)
  }
}

function isService(kind: Kind): boolean {
  return resourceNameOf(kind) === 'services'
}

function addressOf(service: KubernetesObject): string | undefined {
  const address = valueAtPath(service, ['spec', 'clusterIP'])
  return typeof address === 'string' && address !== '' && address !== 'None' ? address : undefined
}

function refused(kind: Kind, object: KubernetesObject, address: string, why: string): StatusError {
  const error = invalid('spec.clusterIPs', [address], `failed to allocate IP ${address}: ${why}`)
  return invalidObject(kind, object.metadata.name, [error])
}
