import type { HeaderField } from '../../relay/http/header-field.ts'
import { headerField } from '../../relay/http/header-list.ts'

/** An engine's key as the field that carries it. */
export function engineKeyField(key: string): HeaderField {
  return headerField('authorization', `Bearer ${key}`)
}
