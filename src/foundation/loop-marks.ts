/** Receives the marks of a thread, to put them where another thread can read them. */
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
 * Marks that some work begins in this thread, such as `markLoop('api GET', path)`. When the event loop has been
 * blocked, the marks made meanwhile show what to look at. Each costs two assignments; callers should not build strings
 * for it.
 */
export function markLoop(what: string, subject: string): void {
  const at = count++ & mask
  whats[at] = what
  subjects[at] = subject
  board?.show(what, subject)
}

/** Also passes all marks from now on to `shared`. */
export function showMarksOn(shared: MarkBoard | undefined): void {
  board = shared
}

/** How many marks there have been: a moment that `marksSince` can be asked about. */
export function marksSoFar(): number {
  return count
}

const longestSubject = 200

/**
 * The work that began since a moment: the latest first, equal marks once with their count. Only the latest marks are
 * kept.
 */
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

/** The text of a mark, without the query of a path, which may contain private data. */
export function markText(what: string, subject: string): string {
  const query = subject.indexOf('?')
  const shown = query < 0 ? subject : subject.slice(0, query)
  return `${what} ${shown.slice(0, longestSubject)}`.trim()
}
