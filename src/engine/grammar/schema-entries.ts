import { SluiceError } from '../../foundation/errors.ts'

/** The keywords of a schema. */
export type Entries = Record<string, unknown>

/** Keywords that describe a value to people and programs and do not restrict it. */
const annotations = new Set(
  (
    'title description markdownDescription default example examples $schema $id $comment $anchor deprecated readOnly ' +
    'writeOnly strict discriminator contentMediaType contentEncoding contentSchema externalDocs xml'
  ).split(' '),
)

export function isAnnotation(keyword: string): boolean {
  return annotations.has(keyword) || keyword.startsWith('x-')
}

export function isEntries(value: unknown): value is Entries {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function refuseSchema(param: string, reason: string): SluiceError {
  return new SluiceError('unsupported_parameter', { param, reason })
}
