/** How far a line of a log says that a load is, in percent. */
export type ProgressLine = (line: string) => number | undefined

const words: Readonly<Record<string, string>> = {
  percent: String.raw`(?<percent>\d{1,3}(?:\.\d+)?)`,
  done: String.raw`(?<done>\d{1,15})`,
  total: String.raw`(?<total>\d{1,15})`,
}
const inBraces = /\{(\w+)\}/g

/**
 * A line as it is written in an engine's data: `{percent}`, or `{done}` and `{total}`, stand for numbers, a space for
 * any white space, and everything else for itself. It may be anywhere in the line of the log. It is no regular
 * expression of the writer's own, so that no line can take long to compare.
 */
export function progressLine(template: string): ProgressLine {
  const pattern = new RegExp(
    template
      .split(inBraces)
      .map((part, index) => (index % 2 === 1 ? (wordPattern(part) ?? '') : literalPattern(part)))
      .join(''),
  )
  return (line) => {
    const { percent, done, total } = pattern.exec(line)?.groups ?? {}
    const value = percent === undefined ? (100 * Number(done)) / Number(total) : Number(percent)
    return Number.isFinite(value) ? Math.min(100, Math.floor(value)) : undefined
  }
}

/** What is wrong with a template. */
export function progressLineProblem(template: string): string | undefined {
  const used = [...template.matchAll(inBraces)].map(([, word = '']) => word)
  const unknown = used.find((word) => wordPattern(word) === undefined)
  if (unknown !== undefined) return `{${unknown}} means nothing here; known are {percent}, {done}, {total}`
  const isOnce = new Set(used).size === used.length
  const isPercent = used.length === 1 && used[0] === 'percent'
  const isFraction = used.length === 2 && !used.includes('percent')
  return isOnce && (isPercent || isFraction) ? undefined : 'must have {percent}, or {done} and {total}, once'
}

function wordPattern(word: string): string | undefined {
  return Object.hasOwn(words, word) ? words[word] : undefined
}

function literalPattern(text: string): string {
  return text
    .split(/\s+/)
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`))
    .join(String.raw`\s+`)
}
