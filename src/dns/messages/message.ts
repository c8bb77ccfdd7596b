import type { DomainName } from './domain-name.ts'

/** The types that this server knows by name; all others pass through as bytes. */
export const recordTypes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  NAPTR: 35,
  OPT: 41,
  DS: 43,
  DNSKEY: 48,
  SVCB: 64,
  HTTPS: 65,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
  CAA: 257,
} as const

export const responseCodes = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const

export const internetClass = 1
/** What a client accepts over UDP unless it says otherwise. */
export const leastUdpBytes = 512
/** What passes everywhere without fragmentation. */
export const mostUdpBytes = 1_232
export const mostMessageBytes = 65_535

export interface Question {
  readonly name: DomainName
  readonly type: number
  readonly class: number
}

/** The data of a record: bytes, and names where the type has some, which may be compressed on the wire. */
export type RecordData = ReadonlyArray<Buffer | DomainName>

export interface ResourceRecord {
  readonly name: DomainName
  readonly type: number
  readonly class: number
  readonly ttl: number
  readonly data: RecordData
}

/** The OPT record, which is about the message and not about a name. */
export interface Edns {
  readonly udpBytes: number
  readonly version: number
  readonly dnssecOk: boolean
}

export interface Header {
  readonly id: number
  readonly response: boolean
  readonly opcode: number
  readonly authoritative: boolean
  readonly truncated: boolean
  readonly recursionDesired: boolean
  readonly recursionAvailable: boolean
  readonly authenticData: boolean
  readonly checkingDisabled: boolean
}

export interface Message extends Header {
  /** Including the upper bits from the OPT record. */
  readonly rcode: number
  readonly questions: readonly Question[]
  readonly answers: readonly ResourceRecord[]
  readonly authorities: readonly ResourceRecord[]
  /** Without the OPT record. */
  readonly additionals: readonly ResourceRecord[]
  readonly edns: Edns | undefined
}

const typeNames = new Map<number, string>(Object.entries(recordTypes).map(([name, code]) => [code, name]))
const codeNames = new Map<number, string>(Object.entries(responseCodes).map(([name, code]) => [code, name]))

/** For metrics: few values, whatever is asked. */
export function typeName(type: number): string {
  return typeNames.get(type) ?? 'other'
}

export function codeName(rcode: number): string {
  return codeNames.get(rcode) ?? 'other'
}
