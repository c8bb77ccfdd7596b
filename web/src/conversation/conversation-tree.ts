import type { Conversation, Message } from './conversation.ts'

/**
 * The messages of a conversation are a tree: an edited question and a repeated answer stand beside the first one, below
 * the same message. What is shown is the way from the root to one leaf.
 */
export function shownMessages({ messages, leafId }: Pick<Conversation, 'messages' | 'leafId'>): Message[] {
  const byId = new Map(messages.map((message) => [message.id, message]))
  const path: Message[] = []
  for (let at = byId.get(leafId); at !== undefined; at = at.parentId === null ? undefined : byId.get(at.parentId)) {
    path.push(at)
  }
  return path.toReversed()
}

/** The message and those that stand beside it, the oldest first. */
export function siblingsOf(messages: readonly Message[], message: Message): Message[] {
  return messages.filter(({ parentId, role }) => parentId === message.parentId && role === message.role)
}

/** The end of the newest branch below a message. */
export function newestLeafBelow(messages: readonly Message[], id: string): string {
  let leaf = id
  // A message comes after the one it follows, so one pass is enough.
  const below = new Set([id])
  for (const message of messages) {
    if (message.parentId === null || !below.has(message.parentId)) continue
    below.add(message.id)
    leaf = message.id
  }
  return leaf
}

/** Drops the oldest branches that are not shown, and then the oldest turns, until there are few enough. */
export function boundMessages(messages: readonly Message[], leafId: string, most: number): readonly Message[] {
  let kept = messages
  while (kept.length > most) {
    const shown = new Set(shownMessages({ messages: kept, leafId }).map(({ id }) => id))
    const aside = kept.find(({ id }) => !shown.has(id))
    const fewer = aside === undefined ? withoutFirstTurn(kept) : withoutBranch(kept, aside.id)
    if (fewer.length === kept.length) break
    kept = fewer
  }
  return kept
}

function withoutBranch(messages: readonly Message[], id: string): Message[] {
  const gone = new Set([id])
  return messages.filter((message) => {
    if (message.parentId !== null && gone.has(message.parentId)) gone.add(message.id)
    return !gone.has(message.id)
  })
}

/** An answer without its question would have no context, so both go. */
function withoutFirstTurn(messages: readonly Message[]): readonly Message[] {
  const next = messages.findIndex(({ role }, index) => index > 0 && role === 'user')
  const first = messages[next]
  return first === undefined ? messages : [{ ...first, parentId: null }, ...messages.slice(next + 1)]
}
