import type { Conversation } from './conversation.ts'
import { decodeConversation, encodeConversation, hasPictures, withoutPictures } from './conversation-codec.ts'

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
    let text = encodeConversation(conversation)
    let mayLosePictures = hasPictures(conversation)
    // The browser's quota is small and shared. Pictures take most of it, so those of old conversations make room first,
    // then old conversations, and then the pictures of this one.
    for (;;) {
      try {
        this.#storage.setItem(key, text)
        return true
      } catch {
        if (this.#dropOldestPictures(key) || this.#dropOldest(key)) continue
        if (!mayLosePictures) return false
        mayLosePictures = false
        text = encodeConversation(withoutPictures(conversation))
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

  #dropOldestPictures(except: string): boolean {
    const [oldest] = this.#oldestFirst(except).filter(({ conversation }) => conversation && hasPictures(conversation))
    if (oldest?.conversation === undefined) return false
    // Removed first: what is written next is shorter, but a full storage may refuse even that.
    this.#storage.removeItem(oldest.key)
    try {
      this.#storage.setItem(oldest.key, encodeConversation(withoutPictures(oldest.conversation)))
    } catch {
      // Then it is gone, as it would have been next.
    }
    return true
  }

  #dropOldest(except: string): boolean {
    const [oldest] = this.#oldestFirst(except)
    if (oldest === undefined) return false
    this.#storage.removeItem(oldest.key)
    return true
  }

  #oldestFirst(except: string): Array<{ key: string; conversation: Conversation | undefined }> {
    return this.#keys()
      .filter((key) => key !== except)
      .map((key) => ({ key, conversation: decodeConversation(this.#storage.getItem(key) ?? '') }))
      .sort((one, other) => (one.conversation?.updatedAt ?? 0) - (other.conversation?.updatedAt ?? 0))
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
