import { type FieldError, invalid, tooLong } from '../../../resources/field-error.ts'
import { StatusError, invalidObject } from '../../../resources/status-error.ts'

const mostBytes = 128
/** Matches most names. */
const plain = /^[\x20-\x7e]{0,128}$/
const unprintable = /[^\P{C}\p{Cf}]|[\p{Zl}\p{Zp}]/u

/** The manager that owns written fields: the one the client names, or else its program's name. */
export function managerName(fieldManager: string, userAgent: string): string {
  if (fieldManager !== '') return fieldManager
  const [program = ''] = userAgent.split('/', 1)
  if (plain.test(program)) return program
  let name = ''
  for (const character of program) {
    if (unprintable.test(character)) continue
    if (Buffer.byteLength(name + character) > mostBytes) break
    name += character
  }
  return name
}

export function checkManagerName(fieldManager: string): FieldError[] {
  if (plain.test(fieldManager)) return []
  const errors: FieldError[] = []
  if (Buffer.byteLength(fieldManager) > mostBytes) errors.push(tooLong('fieldManager', mostBytes))
  if (unprintable.test(fieldManager))
    errors.push(invalid('fieldManager', fieldManager, 'should only contain printable characters'))
  return errors
}

/** Refuses invalid options of a write: `PatchOptions.meta.k8s.io "" is invalid: …`. */
export function refuseOptions(
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  errors: readonly FieldError[],
): void {
  if (errors.length === 0) return
  const { message, details } = invalidObject({ group: 'meta.k8s.io', plural: '', kind }, '', errors)
  const { name: _none, ...others } = details
  throw new StatusError('Invalid', message, others)
}
