/** Beyond this, two words have nothing to do with each other. */
const mostDifferent = 0.4
/** Nobody mistypes words that long, and comparing them would take long. */
const longestWord = 64

/** The known words that somebody may have meant, the likeliest first; at most three. */
export function suggestionsFor(word: string, known: readonly string[]): readonly string[] {
  if (word === '' || word.length > longestWord) return []
  const near = known
    .map((candidate) => ({ candidate, distance: distanceBetween(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => isNear(word, candidate, distance))
    .toSorted((a, b) => a.distance - b.distance || a.candidate.length - b.candidate.length)
  // What is hardly less likely than the best may be meant as well; anything else is noise.
  const enough = (near[0]?.distance ?? 0) + 1
  return near
    .filter(({ distance }) => distance <= enough)
    .slice(0, 3)
    .map(({ candidate }) => candidate)
}

/** `Did you mean a or b?`, with a blank before it; empty if nothing is near. */
export function didYouMean(
  word: string,
  known: readonly string[],
  shown: (one: string) => string = (one) => one,
): string {
  const near = suggestionsFor(word, known).map(shown)
  return near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
}

function isNear(word: string, candidate: string, distance: number): boolean {
  if (word.length >= 3 && candidate.startsWith(word)) return true
  return distance <= Math.max(1, Math.floor(Math.max(word.length, candidate.length) * mostDifferent))
}

/** How many letters are missing, too many, wrong, or swapped with their neighbour. */
function distanceBetween(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let j = 1; j <= to.length; j++) {
      const differs = from[i - 1] === to[j - 1] ? 0 : 1
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + differs)
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      if (isSwapped) least = Math.min(least, (beforeLast[j - 2] ?? 0) + 1)
      row.push(least)
    }
    beforeLast = last
    last = row
  }
  return last[to.length] ?? 0
}
