import { z } from 'zod'

/** As much of a JSON schema as pages tell. */
export const schemaForm = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  default: z.unknown().optional(),
  required: z.array(z.string()).optional(),
  get properties() {
    return z.record(z.string(), schemaForm).optional()
  },
  get items() {
    return schemaForm.optional()
  },
  get anyOf() {
    return z.array(schemaForm).optional()
  },
})
export type SchemaForm = z.infer<typeof schemaForm>

/** What somebody writes has defaults; what is answered is there, or may be missing. */
type Direction = 'written' | 'answered'

/** A table of all fields below a schema, one row each, called by their paths: `spec.adapters[].name`. */
export function fieldTable(schema: SchemaForm, path: string, direction: Direction): string[] {
  const head = direction === 'written' ? ['field', 'type', 'without it', 'what'] : ['field', 'type', 'what']
  const rows = [head, head.map(() => '---'), ...fieldRows(schema, path, direction)]
  return rows.map((cells) => `| ${cells.join(' | ')} |`)
}

function fieldRows(schema: SchemaForm, path: string, direction: Direction): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const at = path === '' ? name : `${path}.${name}`
    const isRequired = schema.required?.includes(name) ?? false
    const below = fieldRows(field.items ?? field, field.items ? `${at}[]` : at, direction)
    // What only holds others together needs no row.
    if (field.description === undefined && below.length > 0) return below
    return [[`\`${at}\``, ...typeCells(field, isRequired, direction), cell(field.description ?? '')], ...below]
  })
}

function typeCells(field: SchemaForm, isRequired: boolean, direction: Direction): string[] {
  if (direction === 'written') return [typeOf(field), isRequired ? 'has to be said' : fallbackOf(field)]
  return [isRequired ? typeOf(field) : `${typeOf(field)}, or missing`]
}

function fallbackOf({ default: fallback }: SchemaForm): string {
  return fallback === undefined ? '' : `\`${JSON.stringify(fallback)}\``
}

function typeOf(field: SchemaForm): string {
  if (field.enum) return field.enum.map((value) => `\`${String(value)}\``).join(', ')
  if (field.const !== undefined) return `\`${JSON.stringify(field.const)}\``
  if (field.items) return `list of ${typeOf(field.items)}`
  if (field.anyOf) return field.anyOf.map(typeOf).join(' or ')
  return [field.type ?? []].flat().join(' or ')
}

/** Words of the code as text of a table: what is no code in them must not become markup. */
export function cell(words: string): string {
  return words.replaceAll(/[|*]/g, '\\$&').replaceAll(/<([^>`]+)>/g, '\\<$1\\>')
}
