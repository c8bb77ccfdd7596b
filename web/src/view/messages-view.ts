import type { ObservedModel } from '../conversation/answer-text.ts'
import type { Conversation, Message, UserMessage } from '../conversation/conversation.ts'
import { AnswerView } from './answer-view.ts'
import { element, part } from './element.ts'

interface Shown {
  node: HTMLElement
  answer: AnswerView | undefined
}

/** The messages of the current conversation. Each has one node, which is reused while the conversation is open. */
export class MessagesView {
  readonly #list = part('messages', HTMLElement)
  readonly #retry: () => void
  #conversationId: string | undefined
  #shown = new Map<string, Shown>()

  constructor(retry: () => void) {
    this.#retry = retry
  }

  update(conversation: Conversation | undefined, observe: (model: string) => ObservedModel, now: number): void {
    if (conversation?.id !== this.#conversationId) {
      this.#conversationId = conversation?.id
      this.#shown = new Map()
      this.#list.replaceChildren()
    }
    this.#list.hidden = conversation === undefined
    const messages = conversation?.messages ?? []
    const kept = new Map<string, Shown>()
    for (const message of messages) {
      const shown = this.#shown.get(message.id) ?? this.#add(message)
      kept.set(message.id, shown)
      if (message.role === 'assistant') {
        shown.answer?.update(message, { observed: observe(message.model), now, isLast: message === messages.at(-1) })
      }
    }
    for (const [id, { node }] of this.#shown) if (!kept.has(id)) node.remove()
    this.#shown = kept
  }

  #add(message: Message): Shown {
    const answer = message.role === 'assistant' ? new AnswerView(message, this.#retry) : undefined
    const node = answer?.element ?? drawQuestion(message)
    this.#list.append(node)
    return { node, answer }
  }
}

function drawQuestion(message: Pick<UserMessage, 'content'>): HTMLElement {
  return element(
    'article',
    { class: 'message question', 'data-testid': 'message-user', 'aria-label': 'You' },
    element('div', { class: 'bubble' }, message.content),
  )
}
