import { statsText, waitText, type ObservedModel } from '../conversation/answer-text.ts'
import { isRunning, type AssistantMessage } from '../conversation/conversation.ts'
import { splitThinking } from '../conversation/think-splitter.ts'
import { MarkdownView } from '../markdown/markdown-view.ts'
import { copyButton } from './copy-button.ts'
import { element, icon } from './element.ts'

export interface AnswerContext {
  observed: ObservedModel
  now: number
  isLast: boolean
}

/** One answer: how long it is awaited, its reasoning, its text, what went wrong, and how fast it was. */
export class AnswerView {
  readonly element: HTMLElement
  readonly #retry: () => void
  readonly #markdown = new MarkdownView()
  // Not a live region: a screen reader would read out every second.
  readonly #wait = element('div', { class: 'wait', 'aria-live': 'off', hidden: true })
  readonly #waitHeadline = element('span', { class: 'wait-headline' })
  readonly #waitDetail = element('span', { class: 'wait-detail' })
  readonly #thinking = element('details', { class: 'thinking', hidden: true })
  readonly #thinkingTitle = element('span')
  readonly #thinkingText = element('div', { class: 'thinking-text' })
  readonly #notes = element('div', { class: 'notes' })
  readonly #footer = element('footer', { class: 'answer-footer' })
  #message: AssistantMessage | undefined
  #wasLast: boolean | undefined
  #thinkingTouched = false

  constructor(message: AssistantMessage, retry: () => void) {
    this.#retry = retry
    this.#wait.append(
      element('span', { class: 'wait-mark', 'aria-hidden': 'true' }),
      this.#waitHeadline,
      this.#waitDetail,
    )
    const summary = element('summary', {}, icon('chevron'), this.#thinkingTitle)
    summary.addEventListener('click', () => {
      this.#thinkingTouched = true
    })
    this.#thinking.append(summary, this.#thinkingText)
    this.element = element(
      'article',
      { class: 'message answer', 'data-testid': 'message-assistant', 'aria-label': `Answer of ${message.model}` },
      element('div', { class: 'answer-model', 'aria-hidden': 'true' }, message.model),
      this.#thinking,
      this.#wait,
      this.#markdown.element,
      this.#notes,
      this.#footer,
    )
  }

  update(message: AssistantMessage, context: AnswerContext): void {
    if (message.status === 'waiting') this.#showWait(message, context)
    if (message === this.#message && context.isLast === this.#wasLast) return
    this.#message = message
    this.#wasLast = context.isLast
    const { thinking, stillThinking, answer } = splitThinking(message.content)
    this.element.dataset['status'] = message.status
    this.element.setAttribute('aria-busy', String(isRunning(message)))
    this.#wait.hidden = message.status !== 'waiting'
    this.#showThinking(message, message.reasoning || thinking, stillThinking)
    this.#markdown.update(answer)
    this.#notes.replaceChildren(...notesOf(message, answer, context.isLast, this.#retry))
    this.#footer.replaceChildren(...footerOf(message, answer, context.isLast, this.#retry))
  }

  #showWait(message: AssistantMessage, { observed, now }: AnswerContext): void {
    const { waking, headline, detail } = waitText(message, observed, now)
    this.#wait.dataset['testid'] = waking ? 'waking' : 'waiting'
    this.#waitHeadline.textContent = headline
    this.#waitDetail.textContent = detail
  }

  #showThinking(message: AssistantMessage, text: string, sectionOpen: boolean): void {
    this.#thinking.hidden = text === ''
    if (text === '') return
    const answerBegan = message.reasoning === '' ? !sectionOpen : message.content !== ''
    const live = message.status === 'streaming' && !answerBegan
    this.#thinkingTitle.textContent = live ? 'Thinking…' : 'Reasoning'
    this.#thinking.classList.toggle('live', live)
    this.#thinkingText.textContent = text
    // Open while there is nothing else to see, and closed afterwards, unless the reader has opened or closed it.
    if (!this.#thinkingTouched) this.#thinking.open = live
  }
}

function notesOf(message: AssistantMessage, answer: string, isLast: boolean, retry: () => void): HTMLElement[] {
  if (message.status === 'failed') {
    const { message: text = 'The answer failed.', code = '' } = message.failure ?? {}
    const row = element('div', { class: 'failure-row' })
    if (isLast) {
      const button = element('button', { type: 'button', class: 'button' }, icon('retry'), 'Retry')
      button.addEventListener('click', retry)
      row.append(button)
    }
    row.append(element('code', {}, code))
    return [element('div', { class: 'failure', 'data-testid': 'error', role: 'alert' }, element('p', {}, text), row)]
  }
  const note =
    message.status === 'stopped'
      ? 'Stopped.'
      : message.cutShort
        ? 'Cut off: the model reached its length limit.'
        : message.status === 'done' && answer === ''
          ? 'The model ended without an answer.'
          : ''
  return note === '' ? [] : [element('p', { class: 'note' }, note)]
}

function footerOf(message: AssistantMessage, answer: string, isLast: boolean, retry: () => void): HTMLElement[] {
  if (isRunning(message)) return []
  const parts: HTMLElement[] = []
  if (answer !== '') parts.push(copyButton('Copy answer', () => answer))
  if (isLast && message.status !== 'failed') {
    const button = element(
      'button',
      { type: 'button', class: 'quiet-button', 'aria-label': 'Ask again', title: 'Ask again' },
      icon('retry'),
    )
    button.addEventListener('click', retry)
    parts.push(button)
  }
  if (message.stats !== null) {
    parts.push(element('span', { class: 'stats', 'data-testid': 'stats' }, statsText(message.stats, message.woke)))
  }
  return parts
}
