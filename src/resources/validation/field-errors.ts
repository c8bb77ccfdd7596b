import { briefJson } from '../brief-json.ts'
import type { FieldError } from '../field-error.ts'

/** The error for a reference to something that does not exist. */
export function notFoundField(field: string, value: unknown): FieldError {
  return { reason: 'FieldValueNotFound', field, message: `Not found: ${briefJson(value, 4096)}` }
}
