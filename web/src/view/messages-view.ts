import type { ObservedModel } from '../conversation/answer-text.ts'
import type { Conversation, Message } from '../conversation/conversation.ts'
import { shownMessages, siblingsOf } from '../conversation/conversation-tree.ts'
import { AnswerView, type AnswerActions } from './answer-view.ts'
import type { Branch, BranchStep } from './branch-switch.ts'
import { part } from './element.ts'
import { QuestionView, type QuestionActions } from './question-view.ts'

type MessageView = QuestionView | AnswerView

/** The shown messages of the current conversation. Each has one node, which is reused while it is shown. */
export class MessagesView {
  readonly #list = part('messages', HTMLElement)
  readonly #actions: QuestionActions & AnswerActions
  #conversationId: string | undefined
  #shown = new Map<string, MessageView>()

  constructor(actions: QuestionActions & AnswerActions) {
    this.#actions = actions
  }

  update(conversation: Conversation | undefined, observe: (model: string) => ObservedModel, now: number): void {
    if (conversation?.id !== this.#conversationId) {
      this.#conversationId = conversation?.id
      this.#shown = new Map()
      this.#list.replaceChildren()
    }
    this.#list.hidden = conversation === undefined
    const messages = conversation === undefined ? [] : shownMessages(conversation)
    const kept = new Map(messages.map((message) => [message.id, this.#shown.get(message.id)]))
    for (const [id, view] of this.#shown) if (!kept.has(id)) view.element.remove()
    this.#shown = new Map(
      messages.map((message) => {
        const view = kept.get(message.id) ?? this.#add(message)
        const branch = branchOf(conversation?.messages ?? [], message)
        if (view instanceof QuestionView) view.update(branch)
        else if (message.role === 'assistant') {
          const isLast = message === messages.at(-1)
          view.update(message, { observed: observe(message.model), now, isLast, branch })
        }
        return [message.id, view]
      }),
    )
  }

  /** Puts the focus on the button of a message that leads in this direction, or on the other one at the end. */
  focusStep(messageId: string, step: BranchStep): void {
    const buttons =
      this.#shown.get(messageId)?.element.querySelectorAll<HTMLButtonElement>('.branch-step:enabled') ?? []
    const wanted = [...buttons].find((button) => button.dataset['step'] === String(step))
    const button = wanted ?? buttons[0]
    button?.focus()
  }

  #add(message: Message): MessageView {
    const view =
      message.role === 'user' ? new QuestionView(message, this.#actions) : new AnswerView(message, this.#actions)
    // Messages that are shown anew always follow those that stay.
    this.#list.append(view.element)
    return view
  }
}

function branchOf(messages: readonly Message[], message: Message): Branch {
  const siblings = siblingsOf(messages, message)
  return { index: siblings.indexOf(message), count: siblings.length }
}
