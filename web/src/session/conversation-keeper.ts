import { isRunning, type Conversation } from '../conversation/conversation.ts'
import type { ConversationStorage } from '../conversation/conversation-storage.ts'
import type { ChatStore } from './chat-store.ts'

const STREAMING_SAVE_MS = 1_000

/** Keeps storage up to date with the store, and the store with changes of other tabs. */
export class ConversationKeeper {
  readonly #store: ChatStore
  readonly #storage: ConversationStorage
  #saved = new Map<string, Conversation>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(store: ChatStore, storage: ConversationStorage) {
    this.#store = store
    this.#storage = storage
  }

  start(): void {
    const conversations = this.#storage.loadAll()
    this.#store.dispatch({ type: 'restored', conversations })
    this.#saved = new Map(conversations.map((conversation) => [conversation.id, conversation]))
    this.#store.onChange((state) => {
      // A streaming answer changes with every token, so it is stored only once a second.
      const streaming = state.conversations.some(({ messages }) => messages.some(isRunning))
      if (!streaming) this.#flush()
      else this.#timer ??= setTimeout(() => this.#flush(), STREAMING_SAVE_MS)
    })
    addEventListener('pagehide', () => this.#flush())
    addEventListener('storage', (event) => this.#otherTabChanged(event.key))
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const { conversations } = this.#store.state
    for (const conversation of conversations) {
      if (this.#saved.get(conversation.id) !== conversation) this.#storage.save(conversation)
    }
    const kept = new Map(conversations.map((conversation) => [conversation.id, conversation]))
    for (const id of this.#saved.keys()) if (!kept.has(id)) this.#storage.remove(id)
    this.#saved = kept
  }

  #otherTabChanged(key: string | null): void {
    const id = key === null ? undefined : this.#storage.idOfKey(key)
    if (id === undefined) return
    const mine = this.#store.state.conversations.find((conversation) => conversation.id === id)
    // An answer that is streaming here is newer than anything another tab can have stored.
    if (mine?.messages.some(isRunning)) return
    const theirs = this.#storage.loadAll().find((conversation) => conversation.id === id)
    // Marked as saved before the store notifies anybody: what came from storage must not be written back, or two tabs
    // would go on answering each other.
    if (theirs === undefined) {
      this.#saved.delete(id)
      this.#store.dispatch({ type: 'removed', conversationId: id })
    } else {
      this.#saved.set(id, theirs)
      this.#store.dispatch({ type: 'restored', conversations: [theirs] })
    }
  }
}
