import { copyButton } from '../view/copy-button.ts'
import { element, growText } from '../view/element.ts'
import type { CodePart } from './highlighted-code.ts'

/** Longer code stays plain: the work grows with it, and nobody reads it for its colours. */
const MAX_CHARACTERS = 30_000

/** A block of code. It is highlighted once it is complete, so that a growing one costs nothing but its new text. */
export class CodeView {
  readonly element: HTMLElement
  readonly language: string
  readonly #code = element('code')
  #text = ''
  #isHighlighted = false

  constructor(language: string) {
    this.language = language
    this.element = element(
      'figure',
      { class: 'code-block' },
      element(
        'figcaption',
        {},
        element('span', {}, language || 'text'),
        copyButton('Copy code', () => this.#text),
      ),
      // Focusable, because scrollable parts must be reachable with the keyboard.
      element(
        'pre',
        { tabindex: '0', 'aria-label': language === '' ? 'Code' : `${language} code`, role: 'group' },
        this.#code,
      ),
    )
  }

  update(text: string, isComplete: boolean): void {
    if (text !== this.#text) {
      this.#text = text
      this.#isHighlighted = false
      growText(this.#code, text)
    }
    if (isComplete && !this.#isHighlighted) this.#highlight()
  }

  #highlight(): void {
    this.#isHighlighted = true
    const text = this.#text
    if (this.language === '' || text.length > MAX_CHARACTERS) return
    void import('./code-languages.ts')
      .then(({ highlight }) => {
        const parts = this.#text === text ? highlight(text, this.language.toLowerCase()) : undefined
        if (parts !== undefined) this.#code.replaceChildren(...parts.map(drawPart))
      })
      // Without the chunk, or if the highlighter fails, the code stays as it is.
      .catch(() => undefined)
  }
}

function drawPart(part: CodePart): Node {
  if (typeof part === 'string') return document.createTextNode(part)
  const scopes = part.scopes.map((scope) => `code-${scope}`).join(' ')
  return element('span', { class: scopes }, ...part.parts.map(drawPart))
}
