import { ChatPage } from './chat-page.ts'
import type { KeyValueStorage } from './conversation/conversation-storage.ts'
import { MemoryStorage } from './session/memory-storage.ts'

function browserStorage(): KeyValueStorage {
  try {
    // Merely touching it throws where the browser refuses storage.
    return window.localStorage
  } catch {
    return new MemoryStorage()
  }
}

new ChatPage(browserStorage()).start()
