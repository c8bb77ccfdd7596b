import { unreachable } from '../unreachable.ts'
import { element } from '../view/element.ts'
import type { Inline } from './parsing/markdown-tree.ts'
import { drawMath } from './math-view.ts'

export function drawInline(nodes: readonly Inline[]): Node[] {
  return nodes.map((node) => {
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
  })
}
