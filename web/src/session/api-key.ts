import type { KeyValueStorage } from '../conversation/conversation-storage.ts'

/** How long a key is kept: until the tab is closed, or until it is forgotten. */
export type KeyKeeping = 'tab' | 'browser'

export const API_KEY_ITEM = 'sluice.api-key'
/** What can be sent in a header, and as much of it as the gateway reads. */
const SENDABLE = /^[!-~]{1,512}$/

/** What somebody pasted, as the bare key; undefined when it cannot be one. */
export function readApiKey(text: string): string | undefined {
  const key = text.trim().replace(/^Bearer\s+/i, '')
  return SENDABLE.test(key) ? key : undefined
}

/** The key that is sent with every request, where one is needed. It is written down only after the gateway took it. */
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

  /** Sent from now on; what was kept before stays kept until this one is taken. */
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
      // Full storage: the key holds until the page is closed.
    }
  }

  forget(): void {
    this.#value = undefined
    this.#clear()
  }

  /** Back to what is kept: another tab has changed it, or a key that was tried is given up. */
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
