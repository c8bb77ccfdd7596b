import { unreachable } from '../unreachable.ts'
import { element } from '../view/element.ts'
import type { Inline } from './parsing/markdown-tree.ts'
import { drawMath } from './math-view.ts'

/** What must not begin a line, as after a formula it could. */
const closing = /^[.,;:!?)\]}»”’]+/

export function drawInline(nodes: readonly Inline[]): Node[] {
  return nodes.flatMap((node, at) => {
    const next = nodes[at + 1]
    if (node.kind === 'math' && !node.isDisplay && next?.kind === 'text') {
      const [mark] = closing.exec(next.text) ?? []
      if (mark !== undefined) return [element('span', { class: 'unbroken' }, drawMath(node.tex, false), mark)]
    }
    const before = nodes[at - 1]
    if (node.kind === 'text' && before?.kind === 'math' && !before.isDisplay) {
      return [document.createTextNode(node.text.replace(closing, ''))]
    }
    return [drawOne(node)]
  })
}

function drawOne(node: Inline): Node {
  switch (node.kind) {
    case 'text':
      return document.createTextNode(node.text)
    case 'code':
      return element('code', {}, node.text)
    case 'strong':
      return element('strong', {}, ...drawInline(node.children))
    case 'emphasis':
      return element('em', {}, ...drawInline(node.children))
    case 'strike':
      return element('s', {}, ...drawInline(node.children))
    case 'link':
      return element(
        'a',
        { href: node.href, target: '_blank', rel: 'noopener noreferrer nofollow' },
        ...drawInline(node.children),
      )
    case 'math':
      return drawMath(node.tex, node.isDisplay)
    case 'break':
      return element('br')
    default:
      return unreachable(node)
  }
}
