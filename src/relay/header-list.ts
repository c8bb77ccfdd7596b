import { fieldName, type HeaderField, isFieldValue } from './header-field.ts'

/** Header fields in the order and case they arrived; looked up without regard to case. */
export class HeaderList {
  readonly fields: readonly HeaderField[]

  constructor(fields: readonly HeaderField[]) {
    this.fields = fields
  }

  static of(pairs: Iterable<readonly [name: string, value: string]>): HeaderList {
    return new HeaderList(Array.from(pairs, ([name, value]) => headerField(name, value)))
  }

  /** The value of a field; several fields of one name are joined as RFC 9110 says. `name` is lower case. */
  get(name: string): string | undefined {
    let joined: string | undefined
    for (const field of this.fields) {
      if (field.known.key !== name) continue
      joined = joined === undefined ? field.value : `${joined}, ${field.value}`
    }
    return joined
  }
}

/** A field that is set by us. */
export function headerField(name: string, value: string): HeaderField {
  const known = fieldName(name)
  if (!known || !isFieldValue(value)) throw new TypeError(`the header ${JSON.stringify(name)} is malformed`)
  return { name, value, line: `${name}: ${value}\r\n`, known }
}
