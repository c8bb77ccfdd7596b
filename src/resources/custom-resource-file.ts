import { stringify } from 'yaml'
import { customResourceDefinition } from './custom-resource-definition.ts'
import { type Kind, resourceNameOf } from './kind.ts'

const heading = '# Generated from src/resources by scripts/generate-crds.ts: change the kind there, not this file.\n'

/** The chart's file for a definition. */
export function customResourceFile(kind: Kind): { readonly name: string; readonly text: string } {
  const text = stringify(customResourceDefinition(kind), { lineWidth: 0, aliasDuplicateObjects: false })
  return { name: `${resourceNameOf(kind)}.yaml`, text: heading + text }
}
