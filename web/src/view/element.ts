type Attributes = Record<string, string | boolean | undefined>

/** Creates DOM elements. Text only becomes text nodes, so that nothing a model writes can become markup. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    node.setAttribute(name, value === true ? '' : value)
  }
  node.append(...children)
  return node
}

/** Sets the text of an element. If it has only grown, what is there stays, and need not be drawn again. */
export function growText(node: HTMLElement, text: string): void {
  const [only, ...others] = node.childNodes
  if (only instanceof Text && others.length === 0 && text.startsWith(only.data))
    only.appendData(text.slice(only.length))
  else node.textContent = text
}

/** An element of the fixed frame in index.html. */
export function part<Type extends HTMLElement>(id: string, type: new () => Type): Type {
  const node = document.getElementById(id)
  if (node instanceof type) return node
  throw new Error(`index.html has no ${type.name} with the id ${id}`)
}

export type IconName =
  | 'copy'
  | 'check'
  | 'retry'
  | 'trash'
  | 'pencil'
  | 'cross'
  | 'microphone'
  | 'moon'
  | 'sluice'
  | 'chevron'
  | 'key'

const SVG = 'http://www.w3.org/2000/svg'

/** An icon of the sprite in index.html. It is only decoration: the label is on the button around it. */
export function icon(name: IconName): SVGElement {
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('class', 'icon')
  svg.setAttribute('aria-hidden', 'true')
  const use = document.createElementNS(SVG, 'use')
  use.setAttribute('href', `#icon-${name}`)
  svg.append(use)
  return svg
}
