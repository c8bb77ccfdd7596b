const MAX_DETAIL_CHARACTERS = 160

/**
 * The phase in a comment of the gateway: `waking smollm2: starting, 3 s` → `starting`. Empty when it names no phase,
 * undefined when the comment is about something else. The seconds are ignored because the page counts them itself.
 */
export function wakingDetail(comment: string, model: string): string | undefined {
  if (!/^waking\b/i.test(comment)) return undefined
  let detail = comment.slice('waking'.length).trim()
  if (detail.startsWith(model)) detail = detail.slice(model.length)
  detail = detail.replace(/^[\s:]+/, '').replace(/(?:^|,\s*|\s+)\d+(?:\.\d+)?\s*s$/, '')
  return detail.trim().slice(0, MAX_DETAIL_CHARACTERS)
}
