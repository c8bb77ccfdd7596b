import { element } from '../../../src/view/element.ts'

export function section(title: string, ...children: readonly Node[]): HTMLElement {
  return element('section', { class: 'block', 'aria-label': title }, element('h2', {}, title), ...children)
}

/** With what can be done there, beside its title. */
export function sectionWith(title: string, actions: readonly Node[], ...children: readonly Node[]): HTMLElement {
  const head = element('div', { class: 'block-head' }, element('h2', {}, title), ...actions)
  return element('section', { class: 'block', 'aria-label': title }, head, ...children)
}

/** Of one thing: names are shown as they are, which titles in capitals are not. */
export function nameSection(name: string, ...children: readonly Node[]): HTMLElement {
  return element(
    'section',
    { class: 'block', 'aria-label': name },
    element('h2', { class: 'is-name' }, name),
    ...children,
  )
}
