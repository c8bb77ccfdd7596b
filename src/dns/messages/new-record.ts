import type { DomainName } from './domain-name.ts'
import { type ResourceRecord, internetClass, recordTypes } from './message.ts'

export function addressRecord(name: DomainName, address: Buffer, ttl: number): ResourceRecord {
  const type = address.length === 4 ? recordTypes.A : recordTypes.AAAA
  return { name, type, class: internetClass, ttl, data: [address] }
}

export function pointerRecord(
  name: DomainName,
  type: typeof recordTypes.CNAME | typeof recordTypes.PTR | typeof recordTypes.NS,
  target: DomainName,
  ttl: number,
): ResourceRecord {
  return { name, type, class: internetClass, ttl, data: [target] }
}

export interface ServiceLocation {
  readonly weight: number
  readonly port: number
  readonly target: DomainName
}

export function locationRecord(
  name: DomainName,
  { weight, port, target }: ServiceLocation,
  ttl: number,
): ResourceRecord {
  const numbers = Buffer.alloc(6)
  numbers.writeUInt16BE(weight, 2)
  numbers.writeUInt16BE(port, 4)
  return { name, type: recordTypes.SRV, class: internetClass, ttl, data: [numbers, target] }
}

/** At most 255 characters. */
export function textRecord(name: DomainName, text: string, ttl: number): ResourceRecord {
  const bytes = Buffer.from(text)
  return { name, type: recordTypes.TXT, class: internetClass, ttl, data: [Buffer.from([bytes.length]), bytes] }
}

/** The SOA record: who answers for a zone, and how long negative answers may be cached. */
export function authorityRecord(zone: DomainName, serial: number, ttl: number): ResourceRecord {
  const numbers = Buffer.alloc(20)
  for (const [at, value] of [serial % 2 ** 32, 7_200, 1_800, 86_400, ttl].entries())
    numbers.writeUInt32BE(value, at * 4)
  const data = [['ns', 'dns', ...zone], ['hostmaster', ...zone], numbers]
  return { name: zone, type: recordTypes.SOA, class: internetClass, ttl, data }
}
