import { type DomainName, isWithin, nameKey, nameOf } from '../messages/domain-name.ts'
import { type ClusterZone, type Found, findName, recordTtl } from './find-name.ts'
import { addressKey, reversedAddress } from '../messages/ip-address.ts'
import { type Question, type ResourceRecord, recordTypes, responseCodes } from '../messages/message.ts'
import { addressRecord, authorityRecord, locationRecord, pointerRecord } from '../messages/new-record.ts'
import type { Place } from './service-places.ts'

export interface ClusterNamesOptions extends Omit<ClusterZone, 'zone'> {
  /** `cluster.local`, for example. */
  readonly clusterDomain: string
  /** From 0 to 1: where a list of addresses begins, so that clients who take the first are spread. */
  readonly random?: () => number
}

export interface Sections {
  readonly rcode: number
  readonly answers: readonly ResourceRecord[]
  readonly authorities: readonly ResourceRecord[]
  readonly additionals: readonly ResourceRecord[]
}

export type NamesAnswer =
  | ({ readonly kind: 'answer' } & Sections)
  /** The name is an alias of one outside, whose records belong to the answer. */
  | { readonly kind: 'alias'; readonly aliases: readonly ResourceRecord[]; readonly target: DomainName }
  /** Not a name of the cluster. */
  | { readonly kind: 'elsewhere' }

type FoundHere = Exclude<Found, { kind: 'alias' }>

const mostAliases = 10

/**
 * What the names of Services and Pods resolve to: DNS-Based Service Discovery, version 1.1.0, answered as CoreDNS does.
 */
export class ClusterNames {
  readonly #cluster: ClusterZone
  readonly #random: () => number

  constructor({ clusterDomain, random = Math.random, ...cluster }: ClusterNamesOptions) {
    const zone = nameOf(clusterDomain)
    if (!zone || zone.length === 0) throw new TypeError(`${clusterDomain} is no domain`)
    this.#cluster = { ...cluster, zone }
    this.#random = random
  }

  answer(question: Question): NamesAnswer {
    const { name, type } = question
    const { zone } = this.#cluster
    if (!isWithin(name, zone)) return this.#reverse(question)
    const aliases: ResourceRecord[] = []
    const seen = new Set<string>()
    for (let at = name; ;) {
      const found = findName(this.#cluster, at, type)
      if (found.kind !== 'alias') return this.#rendered(question, at, aliases, found)
      const { target } = found
      const alias = pointerRecord(at, recordTypes.CNAME, target, recordTtl)
      if (type === recordTypes.CNAME) return answered([alias])
      // Aliases in a circle exist but lead nowhere, and they are only followed for addresses.
      const circle = seen.has(nameKey(at)) || seen.size >= mostAliases
      if (circle || (type !== recordTypes.A && type !== recordTypes.AAAA)) return this.#denied(name, false)
      seen.add(nameKey(at))
      aliases.push(alias)
      if (!isWithin(target, zone)) return { kind: 'alias', aliases, target }
      at = target
    }
  }

  /** Names of addresses; an address that is not the cluster's may be known elsewhere. */
  #reverse({ name, type }: Question): NamesAnswer {
    const address = type === recordTypes.PTR ? reversedAddress(name) : undefined
    if (!address) return { kind: 'elsewhere' }
    const { index, zone } = this.#cluster
    const service = index.serviceAt(address)
    const targets = service
      ? [[service.name, service.namespace, 'svc', ...zone]]
      : index.endpointsAt(address).map((one) => [one.label, one.service, one.namespace, 'svc', ...zone])
    if (targets.length === 0) return { kind: 'elsewhere' }
    return answered(eachOnce(targets, nameKey).map((target) => pointerRecord(name, recordTypes.PTR, target, recordTtl)))
  }

  #rendered(
    { name, type }: Question,
    at: DomainName,
    aliases: readonly ResourceRecord[],
    found: FoundHere,
  ): NamesAnswer {
    const { answers, additionals } = this.#recordsOf(at, type, found)
    if (answers.length > 0) return answered([...aliases, ...answers], additionals)
    // An alias of nothing still exists.
    return this.#denied(name, found.kind === 'missing' && aliases.length === 0)
  }

  #recordsOf(name: DomainName, type: number, found: FoundHere): Pick<Sections, 'answers' | 'additionals'> {
    if (found.kind === 'records') return found
    if (found.kind !== 'places') return { answers: [], additionals: [] }
    if (type === recordTypes.SRV) return locationsOf(name, found.places)
    const length = type === recordTypes.A ? 4 : type === recordTypes.AAAA ? 16 : 0
    const addresses = found.places.map(({ address }) => address).filter((address) => address.length === length)
    const answers = this.#turned(eachOnce(addresses, addressKey)).map((one) => addressRecord(name, one, recordTtl))
    return { answers, additionals: [] }
  }

  /** A negative answer, with the SOA record that says how long it is valid. */
  #denied(name: DomainName, missing: boolean): NamesAnswer {
    const { index, zone } = this.#cluster
    // Until everything has been seen, what is not found may still exist.
    const denial = index.synced ? responseCodes.NXDOMAIN : responseCodes.SERVFAIL
    const rcode = missing ? denial : responseCodes.NOERROR
    const authority = authorityRecord(name.slice(name.length - zone.length), index.serial, recordTtl)
    return { kind: 'answer', rcode, answers: [], authorities: [authority], additionals: [] }
  }

  #turned<T>(list: readonly T[]): readonly T[] {
    if (list.length < 2) return list
    const start = Math.floor(this.#random() * list.length)
    return [...list.slice(start), ...list.slice(0, start)]
  }
}

function answered(answers: readonly ResourceRecord[], additionals: readonly ResourceRecord[] = []): NamesAnswer {
  return { kind: 'answer', rcode: responseCodes.NOERROR, answers, authorities: [], additionals }
}

/** Each port of each target once, with equal weights; the targets' addresses are added. */
function locationsOf(name: DomainName, places: readonly Place[]): Pick<Sections, 'answers' | 'additionals'> {
  const weight = Math.max(1, Math.floor(100 / places.length))
  const reachable = places.flatMap(({ port, ...place }) => (port === undefined ? [] : [{ ...place, port }]))
  const locations = eachOnce(reachable, ({ target, port }) => `${port} ${nameKey(target)}`)
  const addresses = eachOnce(reachable, ({ target, address }) => `${addressKey(address)} ${nameKey(target)}`)
  return {
    answers: locations.map(({ target, port }) => locationRecord(name, { weight, port, target }, recordTtl)),
    additionals: addresses.map(({ target, address }) => addressRecord(target, address, recordTtl)),
  }
}

function eachOnce<T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] {
  if (items.length < 2) return items
  const seen = new Set<string>()
  return items.filter((item) => seen.size < seen.add(keyOf(item)).size)
}
