export interface SplitAnswer {
  thinking: string
  /** The section has begun and its end has not come yet. */
  stillThinking: boolean
  answer: string
}

const OPEN = '<think>'
const CLOSE = '</think>'

/**
 * Takes the reasoning section off the start of an answer. Made for text that is still growing: half a tag at the end is
 * held back, so that `<thi` or `</thin` never flashes up on the page. Anywhere but at the start the tags are plain
 * text.
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
