import { ChatPage } from './chat-page.ts'
import type { KeyValueStorage } from './conversation/conversation-storage.ts'
import { MemoryStorage } from './session/memory-storage.ts'

function storageOf(kind: 'localStorage' | 'sessionStorage'): KeyValueStorage {
  try {
    // If the browser refuses storage, even reading the property throws.
    return window[kind]
  } catch {
    return new MemoryStorage()
  }
}

new ChatPage({ browser: storageOf('localStorage'), tab: storageOf('sessionStorage') }).start()
