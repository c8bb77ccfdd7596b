import {
  type ChatHistoryItem,
  type ChatWrapper,
  JinjaTemplateChatWrapper,
  type LlamaModel,
  resolveChatWrapper,
} from 'node-llama-cpp'
import { SluiceError, errorMessage } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import type { ChatMessage, Prompt } from './language-model.ts'

/** Writes a conversation the way the model was trained to read one. */
export interface ChatTemplate {
  render(messages: readonly ChatMessage[]): Prompt
}

/** The template given, else the one inside the model file, else what the library knows about models of this kind. */
export function createChatTemplate(model: LlamaModel, given: string | undefined, log: Logger): ChatTemplate {
  const template = given ?? model.fileInfo.metadata.tokenizer?.chat_template
  if (template === undefined) return { render: refuseWithoutTemplate }
  const wrapper = wrapTemplate(model, template, given !== undefined, log)
  return { render: (messages) => renderWith(wrapper, model, messages) }
}

function wrapTemplate(model: LlamaModel, template: string, given: boolean, log: Logger): ChatWrapper {
  try {
    return new JinjaTemplateChatWrapper({
      template,
      tokenizer: model.tokenizer,
      // The message list is the client's: two user messages in a row stay two.
      joinAdjacentMessagesOfTheSameType: false,
      trimLeadingWhitespaceInResponses: false,
      functionCallMessageTemplate: 'noJinja',
    })
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

function renderWith(wrapper: ChatWrapper, model: LlamaModel, messages: readonly ChatMessage[]): Prompt {
  // The empty turn at the end is the one to be generated: the prompt stops where its text would begin.
  const chatHistory: ChatHistoryItem[] = [...messages.map(toHistoryItem), { type: 'model', response: [''] }]
  const state = stateOf(wrapper, chatHistory)
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
  wrapper: ChatWrapper,
  chatHistory: ChatHistoryItem[],
): ReturnType<ChatWrapper['generateContextState']> {
  try {
    return wrapper.generateContextState({ chatHistory })
  } catch (error) {
    throw new SluiceError(
      'invalid_request',
      { reason: `The model's chat template refuses these messages: ${errorMessage(error)}`, param: 'messages' },
      { cause: error },
    )
  }
}

function toHistoryItem({ role, content }: ChatMessage): ChatHistoryItem {
  if (role === 'assistant') return { type: 'model', response: [content] }
  return { type: role, text: content }
}

function refuseWithoutTemplate(): never {
  throw new SluiceError('invalid_request', {
    reason:
      'This model has no chat template, so it cannot take messages. Use /v1/completions, or put a chat_template.jinja beside the model file.',
    param: 'messages',
  })
}
