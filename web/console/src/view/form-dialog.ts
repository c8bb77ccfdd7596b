import { element } from '../../../src/view/element.ts'

export interface FieldOptions {
  readonly label: string
  readonly hint?: string
  readonly value?: string
  readonly type?: 'text' | 'number'
  readonly min?: string
  readonly required?: boolean
  readonly list?: string
  readonly placeholder?: string
}

/** An input with its label and, below it, what it is for. */
export function field(
  id: string,
  { label, hint, value = '', type = 'text', min, required = true, list, placeholder }: FieldOptions,
) {
  const input = element('input', {
    id,
    type,
    min,
    value,
    required,
    list,
    placeholder,
    autocomplete: 'off',
    spellcheck: 'false',
  })
  const about = hint === undefined ? [] : [element('small', { id: `${id}-hint` }, hint)]
  if (hint !== undefined) input.setAttribute('aria-describedby', `${id}-hint`)
  return { input, row: element('p', { class: 'dialog-field' }, element('label', { for: id }, label), input, ...about) }
}

export function choice(id: string, label: string, options: ReadonlyArray<readonly [value: string, words: string]>) {
  const input = element('select', { id }, ...options.map(([value, words]) => element('option', { value }, words)))
  return { input, row: element('p', { class: 'dialog-field' }, element('label', { for: id }, label), input) }
}
