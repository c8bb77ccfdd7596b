/** Narrower, there would be a word in each line. */
const leastWidth = 24

/**
 * A text behind something on its left, broken between words so that no line is longer than `columns`. Its further lines
 * begin below its first one.
 */
export function besides(left: string, text: string, columns: number): string {
  const width = columns - left.length
  if (!Number.isFinite(columns) || width < leastWidth) return left + text
  return left + wrappedLines(text, width).join(`\n${' '.repeat(left.length)}`)
}

function wrappedLines(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** How wide the terminal is; without one, lines are as long as they are. */
export function terminalColumns(output: { readonly isTTY?: boolean; readonly columns?: number }): number {
  // The last column stays free: some terminals begin a new line when it is written.
  return output.isTTY === true && output.columns ? output.columns - 1 : Number.POSITIVE_INFINITY
}
