import { element } from '../view/element.ts'
import { BlockView } from './block-view.ts'
import { GrowingMarkdown } from './parsing/growing-markdown.ts'

/**
 * Shows Markdown that may still be growing. Only what has changed is parsed and drawn again, so that a long answer goes
 * on as smoothly as a short one, and a selection in it is kept.
 */
export class MarkdownView {
  readonly element = element('div', { class: 'prose' })
  readonly #growing = new GrowingMarkdown()
  readonly #views: BlockView[] = []
  #text = ''
  #isComplete = false

  /** `isComplete`: no more text will come. */
  update(text: string, isComplete: boolean): void {
    if (text === this.#text && isComplete === this.#isComplete) return
    this.#text = text
    this.#isComplete = isComplete
    const { kept, changed } = this.#growing.update(text)
    for (const [offset, block] of changed.entries()) {
      const index = kept + offset
      const isEnded = isComplete || offset < changed.length - 1
      const view = this.#views[index]
      if (view === undefined) {
        const added = new BlockView(block, isEnded)
        this.#views.push(added)
        this.element.append(added.element)
      } else {
        view.update(block, isEnded)
      }
    }
    for (const { element: node } of this.#views.splice(kept + changed.length)) node.remove()
  }
}
