import { objectMetaFields } from '../../../resources/object-meta-fields.ts'
import type { StructuralSchema } from '../../../resources/structural-schema.ts'
import type { JsonObject } from '../../../resources/json-value.ts'
import { type FieldSet, fieldNode, setOfPath, unionOfObjects } from './field-set.ts'
import { shapeOf } from './field-shape.ts'
import type { TrackedKind } from '../managers/tracked-kind.ts'

const text: StructuralSchema = { type: 'string' }
const whole: StructuralSchema = { type: 'integer' }

/** A kind with a field for every way to merge. */
const schema: StructuralSchema = {
  type: 'object',
  properties: {
    apiVersion: text,
    kind: text,
    metadata: objectMetaFields,
    spec: {
      type: 'object',
      properties: {
        replicas: whole,
        paused: { type: 'boolean' },
        port: { 'x-kubernetes-int-or-string': true },
        nested: { type: 'object', properties: { one: text, two: text } },
        granular: { type: 'object', additionalProperties: text },
        atomic: { type: 'object', additionalProperties: text, 'x-kubernetes-map-type': 'atomic' },
        plain: { type: 'array', items: text },
        tags: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
        containers: {
          type: 'array',
          items: { type: 'object', properties: { name: text, image: text, env: named({ value: text }) } },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
        ports: {
          type: 'array',
          items: { type: 'object', properties: { port: whole, protocol: { ...text, default: 'TCP' }, name: text } },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'protocol'],
        },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
    status: { type: 'object', properties: { ready: whole } },
  },
}

function named(fields: Record<string, StructuralSchema>): StructuralSchema {
  return {
    type: 'array',
    items: { type: 'object', properties: { name: text, ...fields } },
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
  }
}

export const sampleShape = shapeOf(schema)

export const sampleKind: TrackedKind = {
  apiVersion: 'test.dev/v1',
  kind: 'Sample',
  group: 'test.dev',
  version: 'v1',
  shape: sampleShape,
  isCustom: true,
  hasStatus: true,
}

export function sample(spec?: JsonObject, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: 'test.dev/v1', kind: 'Sample', metadata: { name: 's', ...metadata }, ...(spec && { spec }) }
}

/** A set of paths such as `f:spec f:replicas`. */
export function fieldSet(...paths: string[]): FieldSet | undefined {
  return paths
    .map((path) => setOfPath(path.split(' ')))
    .reduce<FieldSet | undefined>((all, path) => unionOfObjects(all, path), undefined)
}

/** The same, with every path below `f:spec`. */
export function inSpec(...paths: string[]): FieldSet | undefined {
  const below = fieldSet(...paths)
  return below && fieldNode(false, { 'f:spec': below })
}
