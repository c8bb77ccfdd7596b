import type { ChatHistoryItem, ChatModelFunctionCall, ChatModelResponse } from 'node-llama-cpp'
import { SluiceError } from '../../foundation/errors.ts'
import type { ChatMessage, ToolCall } from '../llama/language-model.ts'

/**
 * Converts a conversation to the form of the library, in which a call, its result and the model's text about it are one
 * turn of the model. The last turn is the one to be generated: the prompt ends where its text would begin.
 */
export function toChatHistory(messages: readonly ChatMessage[]): ChatHistoryItem[] {
  const history: ChatHistoryItem[] = []
  let afterResults: ChatModelResponse['response'] | undefined
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]
    if (!message) break
    if (message.role === 'tool') throw orphanResult(at)
    if (message.role !== 'assistant') {
      afterResults = undefined
      history.push({ type: message.role, text: message.content })
      continue
    }
    const results = resultsAfter(messages, at)
    const response = [message.content, ...toCalls(message.toolCalls, results, at)]
    if (afterResults) afterResults.push(...response)
    else history.push({ type: 'model', response })
    const last = history.at(-1)
    afterResults = message.toolCalls.length > 0 && last?.type === 'model' ? last.response : undefined
    at += results.length
  }
  if (afterResults) afterResults.push('')
  else history.push({ type: 'model', response: [''] })
  return history
}

type ToolMessage = Extract<ChatMessage, { role: 'tool' }>

function resultsAfter(messages: readonly ChatMessage[], at: number): readonly ToolMessage[] {
  const results: ToolMessage[] = []
  for (let next = messages[at + 1]; next?.role === 'tool'; next = messages[at + 1 + results.length]) results.push(next)
  return results
}

function toCalls(calls: readonly ToolCall[], results: readonly ToolMessage[], at: number): ChatModelFunctionCall[] {
  const called = new Set(calls.map(({ id }) => id))
  const resultOf = new Map(results.toReversed().map((result) => [result.toolCallId, result]))
  const unknown = results.findIndex(({ toolCallId }) => !called.has(toolCallId))
  if (unknown !== -1) throw orphanResult(at + 1 + unknown)
  return calls.map((call, index) => {
    const result = resultOf.get(call.id)
    if (!result) {
      const reason = `messages[${at}]: the tool call ${call.id} has no message of role tool with its result.`
      throw new SluiceError('invalid_request', { reason, param: `messages[${at}].tool_calls[${index}]` })
    }
    return {
      type: 'functionCall',
      name: call.name,
      params: parsedOrText(call.arguments),
      result: parsedOrText(result.content),
      ...(index === 0 ? { startsNewChunk: true } : {}),
    }
  })
}

function orphanResult(at: number): SluiceError {
  const reason = `messages[${at}] is the result of a tool call that the message before it does not make.`
  return new SluiceError('invalid_request', { reason, param: `messages[${at}]` })
}

/** Parses JSON, which is what most tools answer with: the template serializes it again. */
function parsedOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
