export interface SplitAnswer {
  thinking: string
  /** Whether the section has begun but not ended yet. */
  stillThinking: boolean
  answer: string
}

const OPEN = '<think>'
const CLOSE = '</think>'

/**
 * Splits the reasoning section off the start of an answer. The text may still be growing, so half a tag at its end is
 * held back: `<thi` or `</thin` must not flash up on the page. Tags anywhere else are plain text.
 */
export function splitThinking(content: string): SplitAnswer {
  const start = content.trimStart()
  if (!start.startsWith(OPEN)) {
    const maybeOpening = OPEN.startsWith(start)
    return { thinking: '', stillThinking: false, answer: maybeOpening ? '' : content }
  }
  const inside = start.slice(OPEN.length)
  const end = inside.indexOf(CLOSE)
  if (end === -1) {
    return { thinking: withoutPartialTag(inside, CLOSE).trim(), stillThinking: true, answer: '' }
  }
  return {
    thinking: inside.slice(0, end).trim(),
    stillThinking: false,
    answer: inside.slice(end + CLOSE.length).trimStart(),
  }
}

function withoutPartialTag(text: string, tag: string): string {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return text.slice(0, -length)
  }
  return text
}
