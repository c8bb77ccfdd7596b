/** What a loop has begun, where another thread can read it. */
export interface MarkBoard {
  show(what: string, subject: string): void
}

const slots = 64
const mask = slots - 1

const whats = Array.from({ length: slots }, () => '')
const subjects = Array.from({ length: slots }, () => '')
let count = 0
let board: MarkBoard | undefined

/**
 * Leaves a mark that something begins in this thread's loop, such as `markLoop('api GET', path)`. When the loop does
 * not turn for long, those that began meanwhile are what is to be looked at. It costs two assignments: whoever calls
 * makes no text for it.
 */
export function markLoop(what: string, subject: string): void {
  const at = count++ & mask
  whats[at] = what
  subjects[at] = subject
  board?.show(what, subject)
}

/** From now on what begins is shown there too. */
export function showMarksOn(shared: MarkBoard | undefined): void {
  board = shared
}

/** A moment in the order of marks. */
export function marksSoFar(): number {
  return count
}

const longestSubject = 200

/** What began since that moment, the latest first and each once with how often; of very many the latest are known. */
export function marksSince(moment: number, most = 8): string[] {
  const begun = new Map<string, number>()
  for (let at = count - 1; at >= moment && at >= count - slots; at--) {
    const text = markText(whats[at & mask] ?? '', subjects[at & mask] ?? '')
    begun.set(text, (begun.get(text) ?? 0) + 1)
  }
  const told = [...begun].slice(0, most).map(([text, times]) => (times > 1 ? `${text} ×${times}` : text))
  const all = count - moment
  const untold = all - [...begun].slice(0, most).reduce((sum, [, times]) => sum + times, 0)
  return untold > 0 ? [...told, `${untold} more`] : told
}

/** A query may hold what is nobody's business. */
export function markText(what: string, subject: string): string {
  const query = subject.indexOf('?')
  const shown = query < 0 ? subject : subject.slice(0, query)
  return `${what} ${shown.slice(0, longestSubject)}`.trim()
}
