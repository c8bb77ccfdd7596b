import type { HeaderField } from '../../relay/http/header-field.ts'
import { headerField } from '../../relay/http/header-list.ts'

const mostKeys = 4_096
const fields = new Map<string, HeaderField>()

/**
 * An engine's key as the field that carries it. Up to 4,096 are remembered, so that a request with a key costs no more
 * than one without.
 */
export function engineKeyField(key: string): HeaderField {
  const known = fields.get(key)
  if (known) return known
  if (fields.size >= mostKeys) fields.clear()
  const field = headerField('authorization', `Bearer ${key}`)
  fields.set(key, field)
  return field
}
