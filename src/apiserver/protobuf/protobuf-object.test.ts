import { expect, it } from 'vitest'
import { readProtobuf } from './protobuf-body.ts'

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  return Buffer.from([...bytes, rest])
}
const bytes = (field: number, ...parts: Array<Buffer | string>): Buffer => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)))
  return Buffer.concat([varint(field * 8 + 2), varint(body.length), body])
}
const number = (field: number, value: number) => Buffer.concat([varint(field * 8), varint(value)])
const sent = (apiVersion: string, kind: string, ...fields: Buffer[]) =>
  Buffer.concat([Buffer.from('k8s\0'), bytes(1, bytes(1, apiVersion), bytes(2, kind)), bytes(2, ...fields)])

it('reads a Deployment as kubectl writes it', () => {
  const quantity = (name: string, text: string) => bytes(1, bytes(1, name), bytes(2, bytes(1, text)))
  const probe = bytes(
    10,
    bytes(1, bytes(2, bytes(1, '/x'), bytes(2, number(1, 0), number(2, 80), bytes(3, '')))),
    number(2, 0),
  )
  const container = bytes(
    2,
    bytes(1, 'web'),
    bytes(2, 'image:1'),
    bytes(5, ''),
    bytes(8, quantity('cpu', '2')),
    probe,
    number(16, 0),
  )
  const volume = bytes(1, bytes(1, 'v'), bytes(2, bytes(10, bytes(1, 'userdata'), number(2, 0))))
  const podSpec = bytes(2, volume, container, bytes(3, ''), number(4, 0))
  const template = bytes(3, bytes(1, bytes(1, ''), bytes(8, '')), podSpec)
  const selector = bytes(2, bytes(1, bytes(1, 'app'), bytes(2, 'web')))
  const metadata = bytes(1, bytes(1, 'web'), bytes(8, number(1, 1_893_456_000), number(2, 0)))
  const spec = bytes(2, number(1, 0), selector, template, bytes(4, bytes(1, '')), number(5, 0), number(7, 0))
  expect(readProtobuf(sent('apps/v1', 'Deployment', metadata, spec, bytes(3, number(1, 0))))).toEqual({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', creationTimestamp: '2030-01-01T00:00:00Z' },
    spec: {
      // Zero on purpose, unlike the zeros around it.
      replicas: 0,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: {},
        spec: {
          terminationGracePeriodSeconds: 0,
          volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'userdata' } }],
          containers: [
            {
              name: 'web',
              image: 'image:1',
              resources: { limits: { cpu: '2' } },
              livenessProbe: { httpGet: { path: '/x', port: 80 } },
            },
          ],
        },
      },
      strategy: {},
    },
    status: {},
  })
})

it('reads what a user may do, and times in fractions of a second', () => {
  const lease = sent(
    'coordination.k8s.io/v1',
    'Lease',
    bytes(2, bytes(1, 'me'), bytes(4, number(1, 1_893_456_000), number(2, 1_234_000))),
  )
  expect(readProtobuf(lease)).toMatchObject({
    spec: { holderIdentity: 'me', renewTime: '2030-01-01T00:00:00.001234Z' },
  })
  const rule = bytes(2, bytes(1, 'get'), bytes(2, ''), bytes(3, 'pods'))
  expect(readProtobuf(sent('rbac.authorization.k8s.io/v1', 'Role', rule))).toMatchObject({
    rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
  })
})

it('does not follow messages without an end', () => {
  let value: Buffer = Buffer.alloc(0)
  for (let depth = 0; depth < 100; depth++) value = bytes(1, value)
  expect(() => readProtobuf(sent('v1', 'Pod', value, bytes(2, bytes(2, bytes(1, Buffer.from([0xff]))))))).toThrow(
    'UTF-8',
  )
})
