import { statsText, waitText, type ObservedModel } from '../conversation/answer-text.ts'
import { isRunning, type AssistantMessage } from '../conversation/conversation.ts'
import { splitThinking } from '../conversation/think-splitter.ts'
import { withoutPodNames } from '../conversation/waking-words.ts'
import { MarkdownView } from '../markdown/markdown-view.ts'
import { type Branch, type BranchStep, branchSwitch } from './branch-switch.ts'
import { copyButton } from './copy-button.ts'
import { element, growText, icon } from './element.ts'

export interface AnswerContext {
  observed: ObservedModel
  now: number
  isLast: boolean
  branch: Branch
}

export interface AnswerActions {
  retry: () => void
  branch: (messageId: string, step: BranchStep) => void
}

/** One answer: how long it is awaited, its reasoning, its text, what went wrong, and how fast it was. */
export class AnswerView {
  readonly element: HTMLElement
  readonly #actions: AnswerActions
  readonly #markdown = new MarkdownView()
  // Not a live region: a screen reader would read out every second.
  readonly #wait = element('div', { class: 'wait', 'aria-live': 'off', hidden: true })
  readonly #waitHeadline = element('span', { class: 'wait-headline' })
  readonly #waitDetail = element('span', { class: 'wait-detail' })
  readonly #waitBar = element('progress', { class: 'wait-bar', max: '100', 'aria-label': 'Loaded', hidden: true })
  readonly #thinking = element('details', { class: 'thinking', hidden: true })
  readonly #thinkingTitle = element('span')
  readonly #thinkingText = element('div', { class: 'thinking-text' })
  readonly #notes = element('div', { class: 'notes' })
  readonly #footer = element('footer', { class: 'answer-footer' })
  #message: AssistantMessage | undefined
  #drawnContext = ''
  #thinkingTouched = false

  constructor(message: AssistantMessage, actions: AnswerActions) {
    this.#actions = actions
    this.#wait.append(
      element('span', { class: 'wait-mark', 'aria-hidden': 'true' }),
      this.#waitHeadline,
      this.#waitDetail,
      this.#waitBar,
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
    const { isLast, branch } = context
    const drawnContext = JSON.stringify([isLast, branch])
    if (message === this.#message && drawnContext === this.#drawnContext) return
    this.#message = message
    this.#drawnContext = drawnContext
    const { thinking, stillThinking, answer } = splitThinking(message.content)
    this.element.dataset['status'] = message.status
    this.element.setAttribute('aria-busy', String(isRunning(message)))
    this.#wait.hidden = message.status !== 'waiting'
    this.#showThinking(message, message.reasoning || thinking, stillThinking)
    this.#markdown.update(answer, !isRunning(message))
    this.#notes.replaceChildren(...notesOf(message, answer, isLast, this.#actions))
    this.#footer.replaceChildren(...footerOf(message, answer, context, this.#actions))
  }

  #showWait(message: AssistantMessage, { observed, now }: AnswerContext): void {
    const { waking, headline, detail, percent } = waitText(message, observed, now)
    this.#wait.dataset['testid'] = waking ? 'waking' : 'waiting'
    this.#waitHeadline.textContent = headline
    this.#waitDetail.textContent = detail
    this.#waitBar.hidden = percent === undefined
    if (percent !== undefined) this.#waitBar.value = percent
  }

  #showThinking(message: AssistantMessage, text: string, sectionOpen: boolean): void {
    this.#thinking.hidden = text === ''
    if (text === '') return
    const answerBegan = message.reasoning === '' ? !sectionOpen : message.content !== ''
    const live = message.status === 'streaming' && !answerBegan
    this.#thinkingTitle.textContent = live ? 'Thinking…' : 'Reasoning'
    this.#thinking.classList.toggle('live', live)
    growText(this.#thinkingText, text)
    // Open while there is nothing else to see, and closed afterwards, unless the reader has opened or closed it.
    if (!this.#thinkingTouched) this.#thinking.open = live
  }
}

function notesOf(message: AssistantMessage, answer: string, isLast: boolean, { retry }: AnswerActions): HTMLElement[] {
  if (message.status === 'failed') {
    const { message: text = 'The answer failed.', code = '' } = message.failure ?? {}
    const told = withoutPodNames(text)
    const row = element('div', { class: 'failure-row' })
    if (isLast) {
      const button = element('button', { type: 'button', class: 'button' }, icon('retry'), 'Retry')
      button.addEventListener('click', retry)
      row.append(button)
    }
    row.append(element('code', {}, code))
    return [element('div', { class: 'failure', 'data-testid': 'error', role: 'alert' }, element('p', {}, told), row)]
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

function footerOf(
  message: AssistantMessage,
  answer: string,
  { isLast, branch }: AnswerContext,
  actions: AnswerActions,
): HTMLElement[] {
  const parts: HTMLElement[] = []
  const switcher = branchSwitch(branch, 'answer', (step) => actions.branch(message.id, step))
  if (switcher !== undefined) parts.push(switcher)
  if (isRunning(message)) return parts
  if (answer !== '') parts.push(copyButton('Copy answer', () => answer))
  if (isLast && message.status !== 'failed') {
    const button = element(
      'button',
      { type: 'button', class: 'quiet-button', 'aria-label': 'Ask again', title: 'Ask again' },
      icon('retry'),
    )
    button.addEventListener('click', actions.retry)
    parts.push(button)
  }
  if (message.stats !== null) {
    parts.push(element('span', { class: 'stats', 'data-testid': 'stats' }, statsText(message.stats, message.woke)))
  }
  return parts
}
