import type { AttachedImage } from '../attachments/attached-image.ts'
import { MAX_QUESTION_CHARACTERS, type UserMessage } from '../conversation/conversation.ts'
import { type Branch, type BranchStep, branchSwitch } from './branch-switch.ts'
import { copyButton } from './copy-button.ts'
import { element, icon } from './element.ts'
import { fitHeight, isSendingKey } from './text-entry.ts'

export interface QuestionActions {
  /** True when the new text was accepted. */
  resend: (message: UserMessage, text: string) => boolean
  branch: (messageId: string, step: BranchStep) => void
  /** It is about to be edited. */
  edit: () => void
}

/** What somebody asked. It can be edited in its place and sent again. */
export class QuestionView {
  readonly element = element('article', {
    class: 'message question',
    'data-testid': 'message-user',
    'aria-label': 'You',
  })
  readonly #message: UserMessage
  readonly #actions: QuestionActions
  #branch: Branch = { index: 0, count: 1 }
  #drawn = ''
  #editing = false

  constructor(message: UserMessage, actions: QuestionActions) {
    this.#message = message
    this.#actions = actions
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && this.#editing) this.#leave()
    })
  }

  update(branch: Branch): void {
    const drawn = `${branch.index} ${branch.count}`
    if (drawn === this.#drawn || this.#editing) return
    this.#drawn = drawn
    this.#branch = branch
    this.#draw()
  }

  #draw(): void {
    const { id, content, images } = this.#message
    const edit = element(
      'button',
      {
        type: 'button',
        class: 'quiet-button edit',
        'aria-label': 'Edit this message',
        title: 'Edit',
        'data-testid': 'edit',
      },
      icon('pencil'),
    )
    edit.addEventListener('click', () => this.#edit())
    const switcher = branchSwitch(this.#branch, 'message', (step) => this.#actions.branch(id, step))
    const row = element(
      'div',
      { class: 'question-row' },
      edit,
      copyButton('Copy message', () => content),
    )
    if (switcher !== undefined) row.append(switcher)
    const pictures = element('div', { class: 'pictures' }, ...images.map(drawPicture))
    const bubble = element('div', { class: 'bubble' }, content)
    this.element.replaceChildren(...(images.length > 0 ? [pictures] : []), ...(content === '' ? [] : [bubble]), row)
  }

  #edit(): void {
    this.#editing = true
    this.#actions.edit()
    const text = element('textarea', { 'aria-label': 'Edit your message', 'data-testid': 'edit-text', rows: '1' })
    text.maxLength = MAX_QUESTION_CHARACTERS
    text.value = this.#message.content
    const cancel = element('button', { type: 'button', class: 'button' }, 'Cancel')
    const send = element('button', { type: 'submit', class: 'button primary', 'data-testid': 'edit-send' }, 'Send')
    const note = element('span', { class: 'edit-note' }, 'The answers so far stay as a version of their own.')
    const form = element(
      'form',
      { class: 'edit-form' },
      text,
      element('div', { class: 'edit-row' }, note, cancel, send),
    )
    cancel.addEventListener('click', () => this.#leave())
    text.addEventListener('input', () => fitHeight(text))
    text.addEventListener('keydown', (event) => {
      if (!isSendingKey(event)) return
      event.preventDefault()
      form.requestSubmit()
    })
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      if (this.#actions.resend(this.#message, text.value)) this.#leave()
    })
    this.element.replaceChildren(form)
    fitHeight(text)
    text.focus()
  }

  #leave(): void {
    this.#editing = false
    this.#draw()
    this.element.querySelector<HTMLElement>('.edit')?.focus()
  }
}

function drawPicture({ name, url }: AttachedImage): HTMLElement {
  if (url !== '') return element('img', { src: url, alt: name })
  return element('span', { class: 'picture-gone' }, `${name} (no longer kept in this browser)`)
}
