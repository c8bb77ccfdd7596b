import type { Message } from './conversation.ts'
import { splitThinking } from './think-splitter.ts'

export interface RequestMessage {
  role: 'system' | 'user' | 'assistant'
  content: string
}

/**
 * The messages to send for the last question. Questions without an answer are left out, because chat templates expect
 * the roles to alternate. Reasoning is left out, because models are trained to see only the answers of earlier turns.
 */
export function requestMessages(messages: readonly Message[], systemPrompt: string): RequestMessage[] {
  const request: RequestMessage[] = []
  const system = systemPrompt.trim()
  if (system !== '') request.push({ role: 'system', content: system })
  let question: string | undefined
  for (const message of messages) {
    if (message.role === 'user') {
      question = message.content
      continue
    }
    const { answer } = splitThinking(message.content)
    if (question === undefined || answer === '') continue
    request.push({ role: 'user', content: question }, { role: 'assistant', content: answer })
    question = undefined
  }
  if (question !== undefined) request.push({ role: 'user', content: question })
  return request
}
