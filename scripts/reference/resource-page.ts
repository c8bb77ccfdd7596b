import { customKinds } from '../../src/resources/all-kinds.ts'
import { customFields } from '../../src/resources/custom-resource-definition.ts'
import type { Kind } from '../../src/resources/kind.ts'
import { fieldTable, schemaForm } from './field-rows.ts'

export function resourceSections(): string {
  return customKinds.map((kind) => resourceSection(kind).join('\n')).join('\n\n')
}

function resourceSection(kind: Kind): string[] {
  const schema = schemaForm.parse(customFields(kind))
  const { apiVersion: _version, kind: _kind, metadata: _metadata, status, ...written } = schema.properties ?? {}
  const names = [kind.plural, ...kind.shortNames].map((name) => `\`${name}\``).join(' or ')
  const place = kind.namespaced ? 'in a namespace' : 'of the whole cluster'
  return [
    `## ${kind.kind}`,
    '',
    `${schema.description ?? ''} To kubectl it is ${names}, ${place}.`.trim(),
    '',
    ...fieldTable({ properties: written, required: schema.required }, '', 'written'),
    ...(status ? ['', ...fieldTable(status, 'status', 'answered')] : []),
  ]
}
