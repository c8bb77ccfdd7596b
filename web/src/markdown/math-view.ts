import { element } from '../view/element.ts'

type Renderer = (tex: string, target: HTMLElement, isDisplay: boolean) => void

const MAX_TEX_CHARACTERS = 3_000
const MAX_KEPT = 300
const MATHML = 'http://www.w3.org/1998/Math/MathML'

let renderer: Renderer | undefined
let loading: Promise<void> | undefined
/** While an answer grows, the formulas of its last paragraph are drawn again and again. */
const drawn = new Map<string, Node>()

/** A formula. Until what draws it is loaded, and if it cannot be drawn, it is shown as it was written. */
export function drawMath(tex: string, isDisplay: boolean): HTMLElement {
  // A wide one scrolls, so it must be reachable with the keyboard.
  const scrolling = isDisplay ? { tabindex: '0', role: 'group', 'aria-label': 'Formula' } : {}
  const target = element('span', { class: isDisplay ? 'math display' : 'math', ...scrolling }, element('code', {}, tex))
  if (tex.length > MAX_TEX_CHARACTERS) return target
  if (renderer !== undefined) fill(target, tex, isDisplay, renderer)
  else {
    void load().then(() => {
      if (renderer !== undefined) fill(target, tex, isDisplay, renderer)
    })
  }
  return target
}

function load(): Promise<void> {
  loading ??= import('temml')
    .then(({ default: temml }) => {
      renderer = (tex, target, displayMode) =>
        temml.render(tex, target, { displayMode, throwOnError: true, trust: false, maxExpand: 200, maxSize: [40, 40] })
    })
    .catch(() => undefined)
  return loading
}

function fill(target: HTMLElement, tex: string, isDisplay: boolean, render: Renderer): void {
  const key = `${isDisplay ? 'd' : 'i'}${tex}`
  const known = drawn.get(key) ?? rendered(tex, isDisplay, render)
  if (known === undefined) return
  drawn.delete(key)
  drawn.set(key, known)
  const oldest = drawn.keys().next().value
  if (drawn.size > MAX_KEPT && oldest !== undefined) drawn.delete(oldest)
  target.replaceChildren(known.cloneNode(true))
}

function rendered(tex: string, isDisplay: boolean, render: Renderer): Node | undefined {
  const scratch = element('span')
  try {
    render(tex, scratch, isDisplay)
  } catch {
    return undefined
  }
  const math = scratch.firstElementChild
  return math !== null && isHarmless(math) ? math : undefined
}

const HARMLESS_ATTRIBUTE = /^(?!on|href|src|xlink)[a-z-]+$/

/** The renderer is told to trust nothing. This makes sure that there is nothing in what it made that could act. */
function isHarmless(root: Element): boolean {
  return [root, ...root.querySelectorAll('*')].every(
    (node) =>
      node.namespaceURI === MATHML &&
      node.localName !== 'maction' &&
      node.getAttributeNames().every((name) => HARMLESS_ATTRIBUTE.test(name)),
  )
}
