import { describe, expect, it } from 'vitest'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { checkTypes } from './core-decode.ts'

const schema: StructuralSchema = {
  type: 'object',
  'x-sluice-type-name': 'io.k8s.api.core.v1.Pod',
  properties: {
    spec: {
      type: 'object',
      'x-sluice-type-name': 'io.k8s.api.core.v1.PodSpec',
      properties: {
        containers: {
          type: 'array',
          items: {
            type: 'object',
            'x-sluice-type-name': 'io.k8s.api.core.v1.Container',
            properties: { name: { type: 'string' }, stdin: { type: 'boolean' } },
          },
        },
        seconds: { type: 'integer', format: 'int32' },
        selector: { type: 'object', additionalProperties: { type: 'string' } },
        port: { 'x-kubernetes-int-or-string': true },
        memory: { format: 'quantity' },
        at: { type: 'string', format: 'date-time' },
        bytes: { type: 'string', format: 'byte' },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
}
const check = (spec: unknown) => () => checkTypes(schema, { spec }, 'Pod')

describe('decoding a kind of Kubernetes’ own', () => {
  it.each([
    {},
    { containers: null, seconds: null },
    { containers: [{ name: 'a', stdin: true, unknown: 1 }] },
    { port: 'http', memory: 1, at: '2030-01-01T00:00:00Z', bytes: 'aGk=' },
    { port: 80, memory: '1.5Gi', selector: { a: 'b' }, free: { any: [1] } },
  ])('takes %j', (spec) => {
    expect(check(spec)).not.toThrow()
  })

  it.each([
    ['x', 'json: cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec'],
    [
      { containers: {} },
      'json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container',
    ],
    [
      { containers: ['x'] },
      'json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container',
    ],
    [
      { containers: [{ name: 1 }] },
      'json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string',
    ],
    [{ seconds: '5' }, 'json: cannot unmarshal string into Go struct field PodSpec.spec.seconds of type int32'],
    [{ seconds: 1.5 }, 'json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.seconds of type int32'],
    [
      { seconds: 2 ** 31 },
      'json: cannot unmarshal number 2147483648 into Go struct field PodSpec.spec.seconds of type int32',
    ],
    [{ selector: { a: 1 } }, 'json: cannot unmarshal number into Go struct field PodSpec.spec.selector of type string'],
    [
      { selector: [] },
      'json: cannot unmarshal array into Go struct field PodSpec.spec.selector of type map[string]string',
    ],
    [{ port: true }, 'json: cannot unmarshal bool into Go struct field PodSpec.spec.port of type int32'],
    [{ memory: 'lots' }, 'quantities must match the regular expression'],
    [{ at: 'noon' }, 'parsing time "noon"'],
    [{ bytes: '%%' }, 'illegal base64 data at input byte 0'],
  ])('refuses %j', (spec, message) => {
    expect(check(spec)).toThrow(message)
  })
})
