import { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'
import { type CompletionRequest, sharedFields, toCompletionRequest } from './completion-request.ts'
import type { ChatMessage } from '../llama/language-model.ts'
import { parseBody } from '../http/request-body.ts'
import { requestLimits } from '../http/request-limits.ts'
import type { ToolChoice, ToolDefinition } from './tool-definitions.ts'

export interface ChatRequest extends CompletionRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolDefinition[]
  readonly toolChoice: ToolChoice
  readonly parallelToolCalls: boolean
}

const textParts = z.array(z.strictObject({ type: z.literal('text'), text: z.string() }))
const content = z.union([z.string(), textParts])
const functionName = z.string().regex(/^[\w.-]{1,64}$/, 'must be letters, digits, _, . and -, at most 64')

const toolCall = z.strictObject({
  id: z.string().min(1),
  type: z.literal('function').optional(),
  index: z.number().int().optional(),
  function: z.strictObject({ name: functionName, arguments: z.string() }),
})

// Everything that our answers contain must be accepted here, because clients send answers back as history.
// Further fields, such as a name or earlier reasoning, have no effect, and clients are told so.
const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal(['system', 'developer', 'user']), content }),
  z.object({
    role: z.literal('assistant'),
    content: content.nullish(),
    tool_calls: z.array(toolCall).nullish(),
    refusal: z.null().optional(),
    audio: z.null().optional(),
    function_call: z.null().optional(),
    annotations: z.array(z.unknown()).max(0).nullish(),
  }),
  z.object({ role: z.literal('tool'), content, tool_call_id: z.string().min(1), name: z.string().nullish() }),
])
export const messagesField = z.array(message).min(1)

const tool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: functionName,
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
    strict: z.boolean().nullish(),
  }),
})

const toolChoice = z.union([
  z.literal(['none', 'auto', 'required']),
  z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: z.string() }) }),
])

const chatBody = z.object({
  ...sharedFields,
  messages: messagesField,
  max_completion_tokens: z.number().int().min(1).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.number().int().min(0).max(20).nullish(),
  tools: z.array(tool).max(requestLimits.tools).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
})

export function parseChatRequest(body: unknown): ChatRequest {
  const parsed = parseBody('chat', chatBody, body)
  if (parsed.top_logprobs && !parsed.logprobs) throw invalid('top_logprobs', 'needs logprobs to be true')
  const request = toCompletionRequest(parsed, parsed.logprobs ? (parsed.top_logprobs ?? 0) : undefined)
  const tools = (parsed.tools ?? []).map(({ function: offered }) => ({
    name: offered.name,
    description: offered.description ?? undefined,
    parameters: offered.parameters ?? undefined,
  }))
  const choice = toToolChoice(parsed.tool_choice, tools)
  const calling = tools.length > 0 && choice.type !== 'none'
  if (calling && request.format) throw invalid('response_format', 'cannot be combined with tools')
  if (calling && request.logprobs !== undefined) throw invalid('logprobs', 'cannot be combined with tools')
  return {
    ...request,
    maxTokens: parsed.max_completion_tokens ?? parsed.max_tokens ?? undefined,
    messages: toChatMessages(parsed.messages),
    tools: calling ? tools : [],
    toolChoice: choice,
    parallelToolCalls: parsed.parallel_tool_calls ?? true,
  }
}

function toToolChoice(
  choice: z.infer<typeof toolChoice> | null | undefined,
  tools: readonly ToolDefinition[],
): ToolChoice {
  if (new Set(tools.map((offered) => offered.name)).size < tools.length)
    throw invalid('tools', 'names a function twice')
  if (choice === null || choice === undefined) return { type: tools.length > 0 ? 'auto' : 'none' }
  if (typeof choice === 'string') {
    if (choice === 'required' && tools.length === 0) throw invalid('tool_choice', 'is required, but there are no tools')
    return { type: choice }
  }
  const wanted = choice.function.name
  if (!tools.some((offered) => offered.name === wanted)) {
    throw invalid('tool_choice', `names ${wanted}, which is not among the tools`)
  }
  return { type: 'function', name: wanted }
}

export function toChatMessages(messages: z.infer<typeof messagesField>): ChatMessage[] {
  return messages.map((one): ChatMessage => {
    const text = typeof one.content === 'string' ? one.content : (one.content ?? []).map((part) => part.text).join('\n')
    switch (one.role) {
      case 'assistant': {
        const toolCalls = (one.tool_calls ?? []).map(({ id, function: called }) => ({ id, ...called }))
        return { role: 'assistant', content: text, toolCalls }
      }
      case 'tool':
        return { role: 'tool', content: text, toolCallId: one.tool_call_id }
      case 'user':
        return { role: 'user', content: text }
      default:
        return { role: 'system', content: text }
    }
  })
}

function invalid(param: string, problem: string): SluiceError {
  return new SluiceError('invalid_request', { reason: `${param} ${problem}.`, param })
}
