import type { Conversation } from './conversation.ts'
import { decodeConversation, encodeConversation } from './conversation-codec.ts'

/** The part of `localStorage` that is used here. */
export interface KeyValueStorage {
  readonly length: number
  key(index: number): string | null
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

const PREFIX = 'sluice.chat.'

/** Stores each conversation under its own key, so that two tabs never overwrite each other's. */
export class ConversationStorage {
  readonly #storage: KeyValueStorage

  constructor(storage: KeyValueStorage) {
    this.#storage = storage
  }

  loadAll(): Conversation[] {
    return this.#keys().flatMap((key) => {
      const conversation = decodeConversation(this.#storage.getItem(key) ?? '')
      return conversation === undefined || PREFIX + conversation.id !== key ? [] : [conversation]
    })
  }

  /** False when the conversation does not fit even alone. The chat continues, but is not stored. */
  save(conversation: Conversation): boolean {
    const key = PREFIX + conversation.id
    const text = encodeConversation(conversation)
    // The browser's quota is small and shared, so make room by dropping the oldest conversations first.
    for (;;) {
      try {
        this.#storage.setItem(key, text)
        return true
      } catch {
        if (!this.#dropOldest(key)) return false
      }
    }
  }

  remove(id: string): void {
    this.#storage.removeItem(PREFIX + id)
  }

  /** The ID of the conversation that the key of a `storage` event belongs to. */
  idOfKey(key: string): string | undefined {
    return key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined
  }

  #dropOldest(except: string): boolean {
    let oldest: { key: string; updatedAt: number } | undefined
    for (const key of this.#keys()) {
      if (key === except) continue
      const updatedAt = decodeConversation(this.#storage.getItem(key) ?? '')?.updatedAt ?? 0
      if (oldest === undefined || updatedAt < oldest.updatedAt) oldest = { key, updatedAt }
    }
    if (oldest === undefined) return false
    this.#storage.removeItem(oldest.key)
    return true
  }

  #keys(): string[] {
    const keys: string[] = []
    for (let i = 0; i < this.#storage.length; i++) {
      const key = this.#storage.key(i)
      if (key?.startsWith(PREFIX)) keys.push(key)
    }
    return keys
  }
}
