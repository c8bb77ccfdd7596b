import { isImageUrl, MAX_IMAGES, type AttachedImage } from '../attachments/attached-image.ts'
import { boundMessages } from './conversation-tree.ts'
import { isRecord, numberOf, parseJson, textOf } from '../protocol/json-value.ts'
import {
  MAX_MESSAGES,
  newAnswer,
  type AnswerStats,
  type AssistantMessage,
  type Conversation,
  type Message,
} from './conversation.ts'

/** Conversations of format 1 have no branches: each message follows the one before it. */
const FORMAT = 2

export function encodeConversation(conversation: Conversation): string {
  return JSON.stringify({ format: FORMAT, ...conversation })
}

/**
 * Reads a stored conversation. What another version or a user has left there is checked; undefined when it is not
 * valid.
 */
export function decodeConversation(text: string): Conversation | undefined {
  const value = parseJson(text)
  if (!isRecord(value) || (value['format'] !== 1 && value['format'] !== FORMAT)) return undefined
  const id = textOf(value['id'])
  if (id === '' || !Array.isArray(value['messages'])) return undefined
  const all = decodeTree(value['messages'], value['format'] === 1)
  const leaf = all.find((message) => message.id === value['leafId']) ?? all.at(-1)
  if (leaf === undefined) return undefined
  return {
    id,
    title: textOf(value['title']) || 'Untitled',
    model: textOf(value['model']),
    updatedAt: numberOf(value['updatedAt']) ?? 0,
    messages: boundMessages(all, leaf.id, MAX_MESSAGES),
    leafId: leaf.id,
  }
}

/** Each message has to follow one that came before it, so that no chain of them can be a circle. */
function decodeTree(values: readonly unknown[], inOneLine: boolean): Message[] {
  const messages: Message[] = []
  const known = new Set<string>()
  for (const value of values.slice(-2 * MAX_MESSAGES)) {
    const message = decodeMessage(value)
    if (message === undefined || known.has(message.id)) continue
    const parentId = inOneLine ? (messages.at(-1)?.id ?? null) : message.parentId
    if (parentId !== null && !known.has(parentId)) continue
    known.add(message.id)
    messages.push({ ...message, parentId })
  }
  return messages
}

function decodeMessage(value: unknown): Message | undefined {
  if (!isRecord(value)) return undefined
  const id = textOf(value['id'])
  if (id === '') return undefined
  const parentId = textOf(value['parentId']) || null
  if (value['role'] === 'user') {
    return { role: 'user', id, parentId, content: textOf(value['content']), images: decodeImages(value['images']) }
  }
  if (value['role'] !== 'assistant') return undefined
  const failure = isRecord(value['failure']) ? value['failure'] : undefined
  const answer: AssistantMessage = {
    ...newAnswer(id, textOf(value['model']), numberOf(value['askedAt']) ?? 0, value['woke'] === true),
    parentId,
    content: textOf(value['content']),
    reasoning: textOf(value['reasoning']),
    stats: decodeStats(value['stats']),
    cutShort: value['cutShort'] === true,
  }
  if (failure !== undefined) {
    return {
      ...answer,
      status: 'failed',
      failure: { message: textOf(failure['message']), code: textOf(failure['code']) },
    }
  }
  // An answer that was still running when the page was closed does not continue.
  return { ...answer, status: value['status'] === 'done' ? 'done' : 'stopped' }
}

function decodeImages(value: unknown): AttachedImage[] {
  if (!Array.isArray(value)) return []
  return value.slice(0, MAX_IMAGES).map((image: unknown) => {
    const { name, url } = isRecord(image) ? image : {}
    return { name: textOf(name), url: isImageUrl(textOf(url)) ? textOf(url) : '' }
  })
}

/** The same without its pictures, of which only the names stay. */
export function withoutPictures(conversation: Conversation): Conversation {
  const messages = conversation.messages.map((message) =>
    message.role === 'user' ? { ...message, images: message.images.map((image) => ({ ...image, url: '' })) } : message,
  )
  return { ...conversation, messages }
}

export function hasPictures({ messages }: Conversation): boolean {
  return messages.some((message) => message.role === 'user' && message.images.some(({ url }) => url !== ''))
}

function decodeStats(value: unknown): AnswerStats | null {
  if (!isRecord(value)) return null
  const firstTokenMs = numberOf(value['firstTokenMs'])
  const generationMs = numberOf(value['generationMs'])
  if (firstTokenMs === undefined || generationMs === undefined) return null
  return { firstTokenMs, generationMs, completionTokens: numberOf(value['completionTokens']) ?? null }
}
