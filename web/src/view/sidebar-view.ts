import { isRunning, type Conversation } from '../conversation/conversation.ts'
import type { ChatState } from '../conversation/conversation-reducer.ts'
import { element, icon, part } from './element.ts'

export interface SidebarActions {
  create: () => void
  select: (id: string) => void
  remove: (id: string) => void
}

/** The list of conversations: beside the chat on a wide screen, a drawer over it on a narrow one. */
export class SidebarView {
  readonly #list = part('conversation-list', HTMLElement)
  readonly #toggle = part('sidebar-toggle', HTMLButtonElement)
  readonly #actions: SidebarActions
  #drawn: readonly unknown[] = []

  constructor(actions: SidebarActions) {
    this.#actions = actions
    for (const id of ['new-chat', 'new-chat-narrow']) {
      part(id, HTMLButtonElement).addEventListener('click', () => {
        this.#setOpen(false)
        actions.create()
      })
    }
    this.#toggle.addEventListener('click', () => this.#setOpen(!this.#isOpen()))
    part('sidebar-backdrop', HTMLElement).addEventListener('click', () => this.#setOpen(false))
    document.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || !this.#isOpen()) return
      this.#setOpen(false)
      this.#toggle.focus()
    })
  }

  update({ conversations, currentId }: ChatState): void {
    const key = [
      currentId,
      ...conversations.flatMap(({ id, title, messages }) => [id, title, messages.some(isRunning)]),
    ]
    if (key.length === this.#drawn.length && key.every((value, index) => value === this.#drawn[index])) return
    this.#drawn = key
    this.#list.replaceChildren(
      ...conversations.map((conversation) => this.#draw(conversation, conversation.id === currentId)),
    )
  }

  #draw({ id, title, messages }: Conversation, current: boolean): HTMLElement {
    const open = element(
      'button',
      { type: 'button', class: 'conversation', 'aria-current': current ? 'page' : undefined, title },
      element('span', { class: 'conversation-title' }, title),
    )
    if (messages.some(isRunning))
      open.append(element('span', { class: 'running-dot', role: 'img', 'aria-label': 'answering' }))
    open.addEventListener('click', () => {
      this.#setOpen(false)
      this.#actions.select(id)
    })
    return element('li', {}, open, this.#deleteButton(id, title))
  }

  /** Asks for confirmation in the same place, since a deletion cannot be undone. */
  #deleteButton(id: string, title: string): HTMLElement {
    const label = `Delete “${title}”`
    const button = element(
      'button',
      { type: 'button', class: 'quiet-button delete', 'aria-label': label },
      icon('trash'),
    )
    const calm = () => {
      button.classList.remove('sure')
      button.setAttribute('aria-label', label)
      button.replaceChildren(icon('trash'))
    }
    button.addEventListener('blur', calm)
    button.addEventListener('mouseleave', calm)
    button.addEventListener('click', () => {
      if (button.classList.contains('sure')) {
        this.#actions.remove(id)
        return
      }
      button.classList.add('sure')
      button.setAttribute('aria-label', `${label}: press again to confirm`)
      button.replaceChildren('Delete?')
    })
    return button
  }

  #isOpen(): boolean {
    return document.body.classList.contains('sidebar-open')
  }

  #setOpen(open: boolean): void {
    document.body.classList.toggle('sidebar-open', open)
    this.#toggle.setAttribute('aria-expanded', String(open))
  }
}
