import type { Block } from './markdown-tree.ts'
import { parseWithPlaces, withoutCarriageReturns } from './parse-markdown.ts'

export interface Grown {
  /** How many of the blocks from before are as they were. */
  kept: number
  /** All blocks after those. */
  changed: Block[]
}

/**
 * Parses text that grows at its end, and only the end of it: a block can no longer change once another one has begun in
 * a line below it that is complete. So a long answer costs no more for each piece than a short one.
 */
export class GrowingMarkdown {
  #settledText = ''
  #settledBlocks = 0

  update(text: string): Grown {
    const whole = withoutCarriageReturns(text)
    if (!whole.startsWith(this.#settledText)) {
      this.#settledText = ''
      this.#settledBlocks = 0
    }
    const kept = this.#settledBlocks
    const tail = whole.slice(this.#settledText.length)
    const { blocks, firstLines, lines } = parseWithPlaces(tail)
    // The last line may still get another meaning, such as `-`, which becomes `--`.
    const settled = firstLines.findLastIndex((line) => line < lines.length - 1)
    if (settled > 0) {
      const length = lines.slice(0, firstLines[settled]).reduce((sum, line) => sum + line.length + 1, 0)
      this.#settledText += tail.slice(0, length)
      this.#settledBlocks += settled
    }
    return { kept, changed: blocks }
  }
}
