import { describe, expect, it } from 'vitest'
import { readProtobuf } from './protobuf-body.ts'

function bytes(field: number, value: Buffer | string): Buffer {
  const body = Buffer.from(value)
  return Buffer.concat([Buffer.from([(field << 3) | 2, body.length]), body])
}
const number = (field: number, value: number) => Buffer.from([field << 3, value])
const join = (...parts: Buffer[]) => Buffer.concat(parts)
const entry = (key: string, value: string) => join(bytes(1, key), bytes(2, value))
const envelope = (kind: string, raw: Buffer, apiVersion = 'v1') =>
  join(
    Buffer.from('k8s\0'),
    bytes(1, join(bytes(1, apiVersion), bytes(2, kind))),
    bytes(2, raw),
    bytes(3, ''),
    bytes(4, ''),
  )

describe('a protobuf body', () => {
  it('is read as the Secret it holds, without what was not set', () => {
    const metadata = join(bytes(1, 's'), bytes(2, ''), bytes(3, 'demo'), bytes(8, ''), bytes(11, entry('a', 'b')))
    const raw = join(bytes(1, metadata), bytes(2, entry('key', 'value')), bytes(3, 'Opaque'))
    expect(readProtobuf(envelope('Secret', raw))).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'demo', labels: { a: 'b' } },
      data: { key: Buffer.from('value').toString('base64') },
      type: 'Opaque',
    })
  })

  it('is read as the Service it holds', () => {
    const named = bytes(4, join(number(1, 1), number(2, 0), bytes(3, 'http')))
    const numbered = bytes(4, join(number(1, 0), number(2, 90), bytes(3, '')))
    const ports = [
      bytes(1, join(bytes(1, 'a'), number(3, 80), named, number(5, 0))),
      bytes(1, join(bytes(1, 'b'), number(3, 81), numbered)),
    ]
    expect(readProtobuf(envelope('Service', bytes(2, join(...ports))))).toMatchObject({
      spec: {
        ports: [
          { name: 'a', port: 80, targetPort: 'http' },
          { name: 'b', port: 81, targetPort: 90 },
        ],
      },
    })
  })

  it('keeps a grace of 0, which means something', () => {
    expect(readProtobuf(envelope('DeleteOptions', number(1, 0), ''))).toMatchObject({ gracePeriodSeconds: 0 })
  })

  it('has no keys that are special', () => {
    const body = readProtobuf(envelope('ConfigMap', bytes(2, entry('__proto__', 'x'))))
    expect(Object.keys(body['data'] as object)).toEqual(['__proto__'])
  })

  it.each([
    ['no prefix', Buffer.from('nope'), 'BadRequest'],
    ['cut off', Buffer.from('k8s\0\n\x7f'), 'BadRequest'],
    ['a number without an end', join(Buffer.from('k8s\0'), Buffer.alloc(12, 0xff)), 'BadRequest'],
    ['another kind', envelope('ReplicationController', Buffer.alloc(0)), 'UnsupportedMediaType'],
    [
      'a kind that is only JSON',
      envelope('CustomResourceDefinition', Buffer.alloc(0), 'apiextensions.k8s.io/v1'),
      'UnsupportedMediaType',
    ],
    ['another version', envelope('Secret', Buffer.alloc(0), 'v2'), 'UnsupportedMediaType'],
    ['a name of the prototype', envelope('constructor', Buffer.alloc(0)), 'UnsupportedMediaType'],
  ])('is refused: %s', (_what, body, reason) => {
    expect(() => readProtobuf(body)).toThrow(expect.objectContaining({ reason }))
  })
})
