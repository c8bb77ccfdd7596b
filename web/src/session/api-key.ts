import type { KeyValueStorage } from '../conversation/conversation-storage.ts'

/** How long a key is kept: until the tab is closed, or until the user removes it. */
export type KeyKeeping = 'tab' | 'browser'

export const API_KEY_ITEM = 'sluice.api-key'
/** The characters that can be sent in a header, up to the length that the gateway reads. */
const SENDABLE = /^[!-~]{1,512}$/

/** The key in a pasted text; undefined when the text cannot be a key. */
export function readApiKey(text: string): string | undefined {
  const key = text.trim().replace(/^Bearer\s+/i, '')
  return SENDABLE.test(key) ? key : undefined
}

/** The key that is sent with every request, if one is needed. It is stored only after the gateway has accepted it. */
export class ApiKey {
  readonly #storages: Readonly<Record<KeyKeeping, KeyValueStorage>>
  #value: string | undefined
  #keeping: KeyKeeping = 'tab'

  constructor(storages: Readonly<Record<KeyKeeping, KeyValueStorage>>) {
    this.#storages = storages
    this.reload()
  }

  get value(): string | undefined {
    return this.#value
  }

  get keeping(): KeyKeeping {
    return this.#keeping
  }

  headers(): Record<string, string> {
    return this.#value === undefined ? {} : { authorization: `Bearer ${this.#value}` }
  }

  /** Sends this key from now on. The stored key is replaced only when this one is accepted. */
  try(value: string, keeping: KeyKeeping): void {
    this.#value = value
    this.#keeping = keeping
  }

  taken(): void {
    const value = this.#value
    if (value === undefined || this.#storages[this.#keeping].getItem(API_KEY_ITEM) === value) return
    this.#clear()
    try {
      this.#storages[this.#keeping].setItem(API_KEY_ITEM, value)
    } catch {
      // The storage is full: the key lasts until the page is closed.
    }
  }

  forget(): void {
    this.#value = undefined
    this.#clear()
  }

  /** Returns to the stored key, because another tab has changed it or a key that was tried is given up. */
  reload(): void {
    for (const keeping of ['tab', 'browser'] as const) {
      this.#value = readApiKey(this.#storages[keeping].getItem(API_KEY_ITEM) ?? '')
      this.#keeping = keeping
      if (this.#value !== undefined) return
    }
    this.#keeping = 'tab'
  }

  #clear(): void {
    for (const storage of Object.values(this.#storages)) storage.removeItem(API_KEY_ITEM)
  }
}
