import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { isJsonObject } from '../../resources/json-value.ts'
import type { PrinterColumn } from './printer-column.ts'

export interface Names {
  readonly plural: string
  readonly singular: string
  readonly kind: string
  readonly listKind: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
}

export interface Version {
  readonly name: string
  readonly served: boolean
  readonly storage: boolean
  readonly deprecated: boolean
  readonly deprecationWarning: string | undefined
  readonly schema: StructuralSchema | undefined
  readonly hasStatus: boolean
  readonly scale: ScaleSubresource | undefined
  readonly columns: readonly PrinterColumn[] | undefined
  readonly selectableFields: readonly string[]
}

export interface ScaleSubresource {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  readonly labelSelectorPath: string | undefined
}

/** The content of a CustomResourceDefinition in a typed form; nothing of it is validated yet. */
export interface Definition {
  readonly name: string
  readonly group: string
  readonly scope: string
  readonly names: Names
  readonly versions: readonly Version[]
  readonly conversion: string
  readonly preserveUnknownFields: boolean
}

/** Reads an object of which only the types of the fields are certain. */
export function readDefinition(object: KubernetesObject): Definition {
  const spec = fieldsOf(object['spec'])
  return {
    name: object.metadata.name,
    group: textOf(spec['group']),
    scope: textOf(spec['scope']),
    names: readNames(spec['names']),
    versions: listOf(spec['versions']).map(readVersion),
    conversion: textOf(fieldsOf(spec['conversion'])['strategy']) || 'None',
    preserveUnknownFields: spec['preserveUnknownFields'] === true,
  }
}

function readNames(value: unknown): Names {
  const { plural, singular, kind, listKind, shortNames, categories } = fieldsOf(value)
  return {
    plural: textOf(plural),
    // What is left out is derived from the kind.
    singular: textOf(singular) || textOf(kind).toLowerCase(),
    kind: textOf(kind),
    listKind: textOf(listKind) || (textOf(kind) && `${textOf(kind)}List`),
    shortNames: listOf(shortNames).map(textOf),
    categories: listOf(categories).map(textOf),
  }
}

function readVersion(value: unknown): Version {
  const version = fieldsOf(value)
  const subresources = fieldsOf(version['subresources'])
  const schema = fieldsOf(version['schema'])['openAPIV3Schema']
  const columns = version['additionalPrinterColumns']
  const warning = version['deprecationWarning']
  return {
    name: textOf(version['name']),
    served: version['served'] === true,
    storage: version['storage'] === true,
    deprecated: version['deprecated'] === true,
    deprecationWarning: typeof warning === 'string' ? warning : undefined,
    schema: isJsonObject(schema) ? schema : undefined,
    hasStatus: isJsonObject(subresources['status']),
    scale: isJsonObject(subresources['scale']) ? readScale(subresources['scale']) : undefined,
    columns: Array.isArray(columns) ? columns.map(readColumn) : undefined,
    selectableFields: listOf(version['selectableFields']).map((field) => textOf(fieldsOf(field)['jsonPath'])),
  }
}

function readScale(scale: Record<string, unknown>): ScaleSubresource {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale
  return {
    specReplicasPath: textOf(specReplicasPath),
    statusReplicasPath: textOf(statusReplicasPath),
    labelSelectorPath: textOf(labelSelectorPath) || undefined,
  }
}

function readColumn(value: unknown): PrinterColumn {
  const { name, type, format, description, priority, jsonPath } = fieldsOf(value)
  return {
    name: textOf(name),
    type: textOf(type),
    format: textOf(format) || undefined,
    description: textOf(description) || undefined,
    priority: typeof priority === 'number' ? priority : undefined,
    jsonPath: textOf(jsonPath),
  }
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return isJsonObject(value) ? { ...value } : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
