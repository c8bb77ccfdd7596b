import { ChatPage } from './chat-page.ts'
import type { KeyValueStorage } from './conversation/conversation-storage.ts'
import { MemoryStorage } from './session/memory-storage.ts'

function storageOf(kind: 'localStorage' | 'sessionStorage'): KeyValueStorage {
  try {
    // Merely touching it throws where the browser refuses storage.
    return window[kind]
  } catch {
    return new MemoryStorage()
  }
}

new ChatPage({ browser: storageOf('localStorage'), tab: storageOf('sessionStorage') }).start()
