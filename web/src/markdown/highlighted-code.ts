/** A piece of code: text, or a part of it with a meaning, such as `keyword`. */
export type CodePart = string | { scopes: string[]; parts: CodePart[] }

const PIECE = /<span class="([\w -]*)">|<\/span>|&(?:amp|lt|gt|quot|#x27);|[^<&]+|[<&]/g
const CHARACTERS: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#x27;': "'",
}

/**
 * Reads what the highlighter gives, which is HTML, into parts from which nodes are made. It knows the highlighter's own
 * spans and nothing else: any other tag is text.
 */
export function partsOfHighlighted(html: string): CodePart[] {
  const root: CodePart[] = []
  const open: CodePart[][] = [root]
  for (const [piece, classes] of html.matchAll(PIECE)) {
    const parts = open.at(-1) ?? root
    if (classes !== undefined) {
      const inner: CodePart[] = []
      parts.push({ scopes: scopesOf(classes), parts: inner })
      open.push(inner)
    } else if (piece === '</span>' && open.length > 1) {
      open.pop()
    } else {
      const text = CHARACTERS[piece] ?? piece
      const last = parts.length - 1
      const before = parts[last]
      if (typeof before === 'string') parts[last] = before + text
      else parts.push(text)
    }
  }
  return root
}

/** `hljs-title function_` → `title`, `function`. */
function scopesOf(classes: string): string[] {
  return classes
    .split(' ')
    .filter((name) => name !== '')
    .map((name) => name.replace(/^hljs-/, '').replace(/_+$/, ''))
}

export function textOfParts(parts: readonly CodePart[]): string {
  return parts.map((part) => (typeof part === 'string' ? part : textOfParts(part.parts))).join('')
}
