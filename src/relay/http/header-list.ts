import { fieldName, type HeaderField, isFieldValue } from './header-field.ts'

/** Header fields in the order and case they arrived, looked up without regard to case. */
export class HeaderList {
  readonly #fields: readonly HeaderField[]
  /** Replaces the length among the fields. */
  readonly #length: string | undefined

  constructor(fields: readonly HeaderField[], length?: string) {
    this.#fields = fields
    this.#length = length
  }

  get fields(): readonly HeaderField[] {
    const length = this.#length
    if (length === undefined) return this.#fields
    return this.#fields.map((field) =>
      isLength(field) ? { ...field, value: length, line: `${field.name}: ${length}\r\n` } : field,
    )
  }

  static of(pairs: Iterable<readonly [name: string, value: string]>): HeaderList {
    return new HeaderList(Array.from(pairs, ([name, value]) => headerField(name, value)))
  }

  /** A field's value; several fields of one name are joined as RFC 9110 says. `name` is lower case. */
  get(name: string): string | undefined {
    let joined: string | undefined
    for (const field of this.#fields) {
      if (field.known.key !== name) continue
      const value = isLength(field) ? (this.#length ?? field.value) : field.value
      joined = joined === undefined ? value : `${joined}, ${value}`
    }
    return joined
  }

  /** The same list with another length. */
  withLength(digits: string): HeaderList {
    return new HeaderList(this.#fields, digits)
  }
}

function isLength({ known }: HeaderField): boolean {
  return known.role === 'content-length'
}

/** Makes a field that we set. */
export function headerField(name: string, value: string): HeaderField {
  const known = fieldName(name)
  if (!known || !isFieldValue(value)) throw new TypeError(`the header ${JSON.stringify(name)} is malformed`)
  return { name, value, line: `${name}: ${value}\r\n`, known }
}
