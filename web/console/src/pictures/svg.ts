const SVG = 'http://www.w3.org/2000/svg'

type Attributes = Record<string, string | number | undefined>

/** Creates SVG elements, like `element` does for HTML. */
export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[Tag] {
  const node = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) node.setAttribute(name, String(value))
  }
  node.append(...children)
  return node
}

const colours = 8
/** Who has which colour on this page. */
const taken = new Map<string, number>()

/**
 * The colour of a holder: the same as long as the page is open, and another than the others' while there are enough. A
 * class, since the page's policy allows no styles in elements.
 */
export function holderClass(name: string): string {
  if (name === '') return 'holder-other'
  const colour = taken.get(name) ?? freeColour(name)
  taken.set(name, colour)
  return `holder-${colour}`
}

/** Begins with what the name tells, so that most models look the same every day. */
function freeColour(name: string): number {
  let hash = 0
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) >>> 0
  const inUse = new Set(taken.values())
  const all = Array.from({ length: colours }, (_, step) => (hash + step) % colours)
  return all.find((colour) => !inUse.has(colour)) ?? hash % colours
}
