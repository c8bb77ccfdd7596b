import type { HeaderField } from '../relay/header-field.ts'
import { headerField } from '../relay/header-list.ts'

const mostKeys = 4_096
const fields = new Map<string, HeaderField>()

/** An engine's key as the field that carries it, made once: a request with it costs no more than one without. */
export function engineKeyField(key: string): HeaderField {
  const known = fields.get(key)
  if (known) return known
  if (fields.size >= mostKeys) fields.clear()
  const field = headerField('authorization', `Bearer ${key}`)
  fields.set(key, field)
  return field
}
