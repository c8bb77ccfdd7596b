import { briefJson } from '../brief-json.ts'
import type { FieldError } from '../field-error.ts'

/** Something is named that is not there. */
export function notFoundField(field: string, value: unknown): FieldError {
  return { reason: 'FieldValueNotFound', field, message: `Not found: ${briefJson(value, 4096)}` }
}
