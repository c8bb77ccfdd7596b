import { recordTypes } from './message.ts'

/** Where the names are in the data of a type: so many bytes, then so many names, then bytes. */
export interface RecordLayout {
  readonly bytesBefore: number
  readonly names: number
  /** Types newer than compression must not be compressed, because others do not know where their names are. */
  readonly compressible: boolean
}

const oneName = { bytesBefore: 0, names: 1, compressible: true }
const preferenceAndName = { bytesBefore: 2, names: 1, compressible: true }

const layouts = new Map<number, RecordLayout>([
  [recordTypes.NS, oneName],
  [recordTypes.CNAME, oneName],
  [recordTypes.PTR, oneName],
  [recordTypes.SOA, { bytesBefore: 0, names: 2, compressible: true }],
  [recordTypes.MX, preferenceAndName],
  [recordTypes.SRV, { bytesBefore: 6, names: 1, compressible: false }],
  // MD, MF, MB, MG and MR; MINFO; RP; AFSDB and RT; PX; KX; DNAME: some may still compress them.
  ...[3, 4, 7, 8, 9].map((type): [number, RecordLayout] => [type, oneName]),
  [14, { bytesBefore: 0, names: 2, compressible: true }],
  [17, { bytesBefore: 0, names: 2, compressible: false }],
  [18, { ...preferenceAndName, compressible: false }],
  [21, { ...preferenceAndName, compressible: false }],
  [26, { bytesBefore: 2, names: 2, compressible: false }],
  [36, { ...preferenceAndName, compressible: false }],
  [39, { ...oneName, compressible: false }],
])

/** `undefined`: only bytes. */
export function layoutOf(type: number): RecordLayout | undefined {
  return layouts.get(type)
}
