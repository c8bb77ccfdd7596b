import {
  type ChatHistoryItem,
  type ChatModelFunctions,
  type ChatWrapper,
  type LlamaModel,
  LlamaText,
  resolveChatWrapper,
} from 'node-llama-cpp'
import { SluiceError, errorMessage } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import { toChatHistory } from './chat-history.ts'
import { JinjaTemplate } from './jinja-template.ts'
import { toGbnfSchema } from './json-schema.ts'
import type { ChatMessage, Prompt, ToolSyntax } from './language-model.ts'
import type { ToolDefinition } from './tool-definitions.ts'

/** Writes a conversation the way the model was trained to read one. */
export interface ChatTemplate {
  render(messages: readonly ChatMessage[], tools: readonly ToolDefinition[]): Prompt
}

/** The template given, else the one inside the model file, else what the library knows about models of this kind. */
export function createChatTemplate(model: LlamaModel, given: string | undefined, log: Logger): ChatTemplate {
  const template = given ?? model.fileInfo.metadata.tokenizer?.chat_template
  if (template === undefined) return { render: refuseWithoutTemplate }
  const wrapper = wrapTemplate(model, template, given !== undefined, log)
  const toolSyntax = toolSyntaxOf(wrapper)
  return {
    render: (messages, tools) => {
      const asked = tools.length > 0 || messages.some(usesTools)
      if (asked && !toolSyntax) throw refuseTools(tools.length > 0 ? 'tools' : 'messages')
      const prompt = renderWith(wrapper, model, messages, tools)
      return tools.length > 0 ? { ...prompt, toolSyntax } : prompt
    },
  }
}

type Wrapper = JinjaTemplate | ChatWrapper

function wrapTemplate(model: LlamaModel, template: string, given: boolean, log: Logger): Wrapper {
  try {
    return new JinjaTemplate(template, model.tokenizer)
  } catch (error) {
    if (given) {
      throw new SluiceError('engine_start_failed', {
        reason: `chat_template.jinja cannot be used: ${errorMessage(error)}`,
      })
    }
    const wrapper = resolveChatWrapper(model)
    log.warn({ err: error, wrapper: wrapper.wrapperName }, "the model's own chat template cannot be used")
    return wrapper
  }
}

/** How the template writes calls; undefined for one that was never taught any. */
function toolSyntaxOf(wrapper: Wrapper): ToolSyntax | undefined {
  if (!(wrapper instanceof JinjaTemplate) || !wrapper.wrapper.usingJinjaFunctionCallTemplate) return undefined
  const { call, parallelism } = wrapper.wrapper.settings.functions
  return {
    prefix: LlamaText(call.prefix).toString(),
    paramsPrefix: LlamaText(call.paramsPrefix).toString(),
    suffix: LlamaText(call.suffix).toString(),
    betweenCalls: LlamaText(parallelism?.call.betweenCalls ?? '').toString(),
  }
}

function renderWith(
  wrapper: Wrapper,
  model: LlamaModel,
  messages: readonly ChatMessage[],
  tools: readonly ToolDefinition[],
): Prompt {
  const state = stateOf(wrapper, toChatHistory(messages), toFunctions(tools))
  const endings = state.stopGenerationTriggers.flatMap((trigger) => {
    const tokens = trigger.tokenize(model.tokenizer)
    // A trigger that begins with an end token needs no watching: the model stops there by itself.
    if (tokens[0] === undefined || model.isEogToken(tokens[0])) return []
    const text = model.detokenize(tokens)
    return text.trim() === '' ? [] : [text]
  })
  const tokens = state.contextText.tokenize(model.tokenizer)
  if (model.tokens.shouldPrependBosToken && model.tokens.bos !== null && tokens[0] !== model.tokens.bos) {
    tokens.unshift(model.tokens.bos)
  }
  return { tokens, opening: openingOf(state.contextText.toString()), endings }
}

/** A template may open the reasoning section itself; the client still sees it begin. */
export function openingOf(prompt: string): string {
  return /<think>\s*$/.exec(prompt)?.[0] ?? ''
}

function stateOf(
  wrapper: Wrapper,
  chatHistory: ChatHistoryItem[],
  availableFunctions: ChatModelFunctions | undefined,
): ReturnType<ChatWrapper['generateContextState']> {
  try {
    return wrapper.generateContextState({ chatHistory, ...(availableFunctions ? { availableFunctions } : {}) })
  } catch (error) {
    throw new SluiceError(
      'invalid_request',
      { reason: `The model's chat template refuses these messages: ${errorMessage(error)}`, param: 'messages' },
      { cause: error },
    )
  }
}

function toFunctions(tools: readonly ToolDefinition[]): ChatModelFunctions | undefined {
  if (tools.length === 0) return undefined
  return Object.fromEntries(
    tools.map(({ name, description, parameters }, index) => [
      name,
      {
        ...(description === undefined ? {} : { description }),
        ...(parameters === undefined
          ? {}
          : { params: toGbnfSchema(parameters, `tools[${index}].function.parameters`) }),
      },
    ]),
  )
}

function usesTools(message: ChatMessage): boolean {
  return message.role === 'tool' || (message.role === 'assistant' && message.toolCalls.length > 0)
}

function refuseTools(param: string): SluiceError {
  return new SluiceError('unsupported_parameter', {
    param,
    reason: "this model's chat template has no tools, so it was never taught to call any",
  })
}

function refuseWithoutTemplate(): never {
  throw new SluiceError('invalid_request', {
    reason:
      'This model has no chat template, so it cannot take messages. Use /v1/completions, or put a chat_template.jinja beside the model file.',
    param: 'messages',
  })
}
