import type { HeaderField } from '../../relay/http/header-field.ts'
import { headerField } from '../../relay/http/header-list.ts'

const mostKeys = 4_096
const fields = new Map<string, HeaderField>()

/**
 * An engine's key as the header field that carries it. The fields of up to 4,096 keys are remembered, because every
 * request to such an engine needs one.
 */
export function engineKeyField(key: string): HeaderField {
  const known = fields.get(key)
  if (known) return known
  if (fields.size >= mostKeys) fields.clear()
  const field = headerField('authorization', `Bearer ${key}`)
  fields.set(key, field)
  return field
}
