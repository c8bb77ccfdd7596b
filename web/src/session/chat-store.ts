import { EMPTY_CHAT, reduceChat, type ChatAction, type ChatState } from '../conversation/conversation-reducer.ts'

/** The one owner of the chat's state. */
export class ChatStore {
  #state: ChatState = EMPTY_CHAT
  readonly #listeners = new Set<(state: ChatState, before: ChatState) => void>()

  get state(): ChatState {
    return this.#state
  }

  readonly dispatch = (action: ChatAction): void => {
    const before = this.#state
    this.#state = reduceChat(before, action)
    if (this.#state === before) return
    for (const listener of this.#listeners) listener(this.#state, before)
  }

  onChange(listener: (state: ChatState, before: ChatState) => void): void {
    this.#listeners.add(listener)
  }
}
