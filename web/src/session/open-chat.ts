import type { KeyValueStorage } from '../conversation/conversation-storage.ts'

const ITEM = 'sluice.open-chat'

/** Which chat was open, so that it is open again after a reload, and when somebody comes back. */
export class OpenChat {
  readonly #tab: KeyValueStorage
  readonly #browser: KeyValueStorage

  constructor(storages: Readonly<Record<'tab' | 'browser', KeyValueStorage>>) {
    this.#tab = storages.tab
    this.#browser = storages.browser
  }

  /** That of this tab, else the last one of any tab; null for a new chat. */
  get last(): string | null {
    return (this.#tab.getItem(ITEM) ?? this.#browser.getItem(ITEM)) || null
  }

  remember(conversationId: string | null): void {
    for (const storage of [this.#tab, this.#browser]) {
      try {
        storage.setItem(ITEM, conversationId ?? '')
      } catch {
        // The storage is full: then it is forgotten with the page.
      }
    }
  }
}
