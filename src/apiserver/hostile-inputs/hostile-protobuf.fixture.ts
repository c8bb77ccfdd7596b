import { type Call, type HostileInput, core, many } from './hostile-calls.fixture.ts'

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  return Buffer.from([...bytes, rest])
}

/** A field of a message that holds bytes: text, or another message. */
export function field(number: number, ...parts: ReadonlyArray<Buffer | string>): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)))
  return Buffer.concat([varint(number * 8 + 2), varint(body.length), body])
}

/** A message in Kubernetes' envelope. */
export function protobuf(apiVersion: string, kind: string, ...fields: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from('k8s\0'), field(1, field(1, apiVersion), field(2, kind)), field(2, ...fields)])
}

function repeated(most: number, share: number, bytes: Buffer): Buffer {
  return Buffer.alloc(Math.ceil(most * share) * bytes.length, bytes)
}

function send(body: Buffer, plural = 'configmaps'): Call {
  return { method: 'POST', path: `${core}/${plural}`, type: 'application/vnd.kubernetes.protobuf', body }
}

const map = (...fields: readonly Buffer[]) => send(protobuf('v1', 'ConfigMap', ...fields))
const named = (...fields: readonly Buffer[]) => field(1, field(1, 'hostile'), ...fields)
const nested = (number: number, levels: number) => {
  let bytes: Buffer = Buffer.alloc(0)
  for (let level = 0; level < levels; level += 1) bytes = field(number, bytes)
  return bytes
}

export const hostileProtobuf: readonly HostileInput[] = [
  {
    name: 'protobuf with empty finalizers without number',
    attack: (share) => map(named(repeated(1_400_000, share, field(14)))),
  },
  {
    name: 'protobuf with finalizers without number',
    attack: (share) => map(named(repeated(300_000, share, field(14, 'a.b/c')))),
  },
  {
    name: 'protobuf with map entries without number',
    attack: (share) =>
      map(named(), Buffer.concat(many(180_000, share, (i) => field(2, field(1, `k${i}`), field(2, 'v'))))),
  },
  {
    name: 'protobuf with one map entry again and again',
    attack: (share) => map(named(), repeated(300_000, share, field(2, field(1, 'k'), field(2, 'v')))),
  },
  {
    name: 'protobuf with metadata again and again',
    attack: (share) => map(repeated(200_000, share, named())),
  },
  {
    name: 'protobuf with owners without number',
    attack: (share) => map(named(repeated(1_400_000, share, field(13)))),
  },
  {
    name: 'protobuf with fields that nobody knows',
    attack: (share) => map(named(), repeated(1_400_000, share, field(15))),
  },
  { name: 'protobuf nested deeply', attack: (share) => map(named(), nested(2, 300_000 * share > 3_000 ? 3_000 : 300)) },
  {
    name: 'protobuf with fields of managers nested deeply',
    attack: (share) => {
      const depth = Math.ceil(400_000 * share)
      const set = `${'{"f:a":'.repeat(depth)}{}${'}'.repeat(depth)}`
      return map(
        named(
          field(17, field(1, 'me'), field(2, 'Update'), field(3, 'v1'), field(6, 'FieldsV1'), field(7, field(1, set))),
        ),
      )
    },
  },
  {
    name: 'protobuf of a Pod with containers without number',
    attack: (share) => send(protobuf('v1', 'Pod', named(), field(2, repeated(1_000_000, share, field(2)))), 'pods'),
  },
  {
    name: 'protobuf with a length that lies',
    attack: (share) =>
      send(Buffer.concat([Buffer.from('k8s\0'), varint(18), varint(2 ** 40), Buffer.alloc(2_000_000 * share)])),
  },
]
