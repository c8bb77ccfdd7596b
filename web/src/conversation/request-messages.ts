import { MAX_IMAGES } from '../attachments/attached-image.ts'
import type { Message, UserMessage } from './conversation.ts'
import { splitThinking } from './think-splitter.ts'

type RequestPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }

export interface RequestMessage {
  role: 'system' | 'user' | 'assistant'
  content: string | RequestPart[]
}

/** Pictures of long ago cost as much as new ones, and a request must not grow without end. */
const MAX_IMAGES_IN_REQUEST = 2 * MAX_IMAGES

/**
 * The messages to send for the last question. Questions without an answer are left out, because chat templates expect
 * the roles to alternate. Reasoning is left out, because models are trained to see only the answers of earlier turns.
 * Pictures are left out for a model that does not see (`canSee`).
 */
export function requestMessages(messages: readonly Message[], systemPrompt: string, canSee = false): RequestMessage[] {
  const turns: Array<{ question: UserMessage; answer: string | undefined }> = []
  for (const message of messages) {
    const last = turns.at(-1)
    if (message.role === 'user') turns.push({ question: message, answer: undefined })
    else if (last !== undefined) last.answer ??= splitThinking(message.content).answer || undefined
  }
  const sent = turns.filter(({ answer }, index) => answer !== undefined || index === turns.length - 1)
  const pictures = sent.flatMap(({ question }) => question.images.map(({ url }) => url)).filter((url) => url !== '')
  const shown = new Set(canSee ? pictures.slice(-MAX_IMAGES_IN_REQUEST) : [])
  const system = systemPrompt.trim()
  return [
    ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
    ...sent.flatMap(({ question, answer }): RequestMessage[] => [
      { role: 'user', content: contentOf(question, shown) },
      ...(answer === undefined ? [] : [{ role: 'assistant' as const, content: answer }]),
    ]),
  ]
}

function contentOf({ content, images }: UserMessage, shown: ReadonlySet<string>): RequestMessage['content'] {
  const urls = images.map(({ url }) => url).filter((url) => shown.has(url))
  if (urls.length === 0) return content
  const text: RequestPart[] = content === '' ? [] : [{ type: 'text', text: content }]
  return [...text, ...urls.map((url): RequestPart => ({ type: 'image_url', image_url: { url } }))]
}
