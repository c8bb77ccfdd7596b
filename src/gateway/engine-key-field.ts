import type { HeaderField } from '../relay/header-field.ts'
import { headerField } from '../relay/header-list.ts'

/** An engine's key as the field that carries it. */
export function engineKeyField(key: string): HeaderField {
  return headerField('authorization', `Bearer ${key}`)
}
