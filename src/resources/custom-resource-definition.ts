import { z } from 'zod'
import { type CelRule, type Kind, resourceNameOf } from './kind.ts'
import { objectMetaFields } from './object-meta-fields.ts'
import type { StructuralSchema } from './structural-schema.ts'

/** A JSON schema as Kubernetes accepts it: structural, OpenAPI v3. */
interface Schema {
  [keyword: string]: unknown
}

/** The CustomResourceDefinition with which a real API server serves and checks a kind as the embedded one does. */
export function customResourceDefinition(kind: Kind): Record<string, unknown> {
  const scale = kind.scale && { ...kind.scale }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: resourceNameOf(kind) },
    spec: {
      group: kind.group,
      scope: kind.namespaced ? 'Namespaced' : 'Cluster',
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.singular,
        ...(kind.shortNames.length > 0 ? { shortNames: [...kind.shortNames] } : {}),
        ...(kind.categories.length > 0 ? { categories: [...kind.categories] } : {}),
      },
      versions: [
        {
          name: kind.version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: openApiSchema(kind) },
          subresources: { ...(kind.hasStatus ? { status: {} } : {}), ...(scale ? { scale } : {}) },
          additionalPrinterColumns: kind.columns.map(printerColumn),
        },
      ],
    },
  }
}

function printerColumn({ name, type, jsonPath, priority, description }: Kind['columns'][number]) {
  if (jsonPath === undefined) throw new Error(`column ${name}: only a path can be shown by a real API server`)
  return { name, type, jsonPath, ...(priority ? { priority } : {}), ...(description ? { description } : {}) }
}

/** The fields of a kind that becomes a CustomResourceDefinition, with the metadata that every object has. */
export function customFields(kind: Pick<Kind, 'schema' | 'celRules'>): StructuralSchema {
  const schema: StructuralSchema = openApiSchema(kind)
  return { ...schema, properties: { ...schema.properties, metadata: objectMetaFields } }
}

function openApiSchema(kind: Pick<Kind, 'schema' | 'celRules'>): Schema {
  const { properties, description } = asSchema(z.toJSONSchema(kind.schema, { target: 'openapi-3.0', io: 'input' }))
  const fields: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(asSchema(properties))) {
    // The API server checks these three itself.
    if (name === 'metadata') fields[name] = { type: 'object' }
    else if (name === 'apiVersion' || name === 'kind') fields[name] = { type: 'string' }
    else fields[name] = structural(asSchema(schema), name, kind.celRules ?? [])
  }
  return {
    ...(description !== undefined && { description }),
    type: 'object',
    required: ['spec'],
    properties: fields,
    ...validationsAt('', kind.celRules ?? []),
  }
}

function structural(schema: Schema, path: string, rules: readonly CelRule[]): Schema {
  const result: Schema = {}
  for (const [keyword, value] of Object.entries(schema)) {
    const kept = keywordOf(keyword, value, path, rules)
    if (kept !== undefined) result[keyword] = kept
  }
  return { ...result, ...validationsAt(path, rules) }
}

function validationsAt(path: string, rules: readonly CelRule[]): Schema {
  const here = rules.filter((rule) => rule.path === path)
  if (here.length === 0) return {}
  const validations = here.map(({ rule, message, fieldPath }) => ({ rule, message, ...(fieldPath && { fieldPath }) }))
  return { 'x-kubernetes-validations': validations }
}

/** Undefined for keywords that a structural schema must not have. */
function keywordOf(keyword: string, value: unknown, path: string, rules: readonly CelRule[]): unknown {
  switch (keyword) {
    case 'properties':
      return Object.fromEntries(
        Object.entries(asSchema(value)).map(([name, field]) => [
          name,
          structural(asSchema(field), `${path}.${name}`, rules),
        ]),
      )
    case 'items':
      return structural(asSchema(value), `${path}[]`, rules)
    case 'additionalProperties':
      return value === false || Object.keys(asSchema(value)).length === 0
        ? undefined
        : structural(asSchema(value), `${path}{}`, rules)
    case 'minimum':
    case 'maximum':
      // JavaScript's largest integer is not one of our rules.
      return Math.abs(Number(value)) >= Number.MAX_SAFE_INTEGER ? undefined : value
    case 'pattern':
      if (!/\(\?[=!<]/.test(String(value))) return value
      // The API server's regular expressions have no look-around, so a CEL rule must say it.
      if (rules.some((rule) => rule.path === path)) return undefined
      throw new Error(`${path}: a pattern with look-around needs a CEL rule`)
    case 'type':
    case 'description':
    case 'enum':
    case 'default':
    case 'required':
    case 'nullable':
    case 'format':
    case 'minLength':
    case 'maxLength':
    case 'minItems':
    case 'maxItems':
      return value
    default:
      throw new Error(`${path}: ${keyword} has no place in a CustomResourceDefinition`)
  }
}

function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
