/**
 * The JSON of a value, cut off after about so many characters. Only what is shown is looked at, because a refused value
 * may be large, and be refused many times.
 */
export function briefJson(value: unknown, most: number): string {
  const writer = new BriefWriter(most)
  writer.write(value)
  return writer.text.length > most ? `${writer.text.slice(0, most)}…` : writer.text
}

class BriefWriter {
  text = ''
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  write(value: unknown): void {
    if (Array.isArray(value)) this.#list(value)
    else if (typeof value === 'object' && value !== null) this.#fields(value)
    else if (typeof value === 'string') this.text += JSON.stringify(value.slice(0, this.#most + 1))
    else this.text += JSON.stringify(value) ?? 'null'
  }

  get #isFull(): boolean {
    return this.text.length > this.#most
  }

  #list(items: readonly unknown[]): void {
    this.text += '['
    for (const [index, item] of items.entries()) {
      if (this.#isFull) return
      if (index > 0) this.text += ','
      this.write(item)
    }
    this.text += ']'
  }

  #fields(value: object): void {
    this.text += '{'
    let count = 0
    for (const field in value) {
      if (this.#isFull) return
      const inner: unknown = Reflect.get(value, field)
      if (inner === undefined) continue
      this.text += `${count === 0 ? '' : ','}${JSON.stringify(field.slice(0, this.#most))}:`
      this.write(inner)
      count += 1
    }
    this.text += '}'
  }
}
