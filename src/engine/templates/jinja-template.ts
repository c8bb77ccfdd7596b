import {
  type ChatWrapperGenerateContextStateOptions,
  type ChatWrapperGeneratedContextState,
  JinjaTemplateChatWrapper,
  type Tokenizer,
} from 'node-llama-cpp'
import { nextTurn } from '../llama/loop-turn.ts'

/** Rendering one with this many turns takes a few milliseconds. */
export const shortHistory = 64

/**
 * The library finds the place of the next turn by writing one and cutting it off. Templates have their own way to open
 * it, and reasoning models are opened with more than their name (`<think>`): where the template can, it opens the turn
 * here.
 */
export class JinjaTemplate {
  readonly wrapper: JinjaTemplateChatWrapper
  /** The wrapper reads them at each rendering. */
  readonly #parameters: Record<string, unknown> = {}
  readonly #opensTurns: boolean

  constructor(template: string, tokenizer: Tokenizer) {
    this.wrapper = new JinjaTemplateChatWrapper({
      template,
      tokenizer,
      // The message list is the client's: two user messages in a row stay two.
      joinAdjacentMessagesOfTheSameType: false,
      trimLeadingWhitespaceInResponses: false,
      additionalRenderParameters: this.#parameters,
    })
    const question = { chatHistory: [{ type: 'user', text: 'Hi' } as const] }
    const closed = this.wrapper.generateContextState(question).contextText.toString()
    this.#opensTurns = this.#renderOpen(question).contextText.toString() !== closed
  }

  /** The prompt of a history whose last item is the empty turn that is to be written. */
  async generateContextState(
    options: ChatWrapperGenerateContextStateOptions,
    signal: AbortSignal,
  ): Promise<ChatWrapperGeneratedContextState> {
    const state = this.wrapper.generateContextState(options)
    if (options.chatHistory.length > shortHistory) await nextTurn(signal)
    const before = options.chatHistory.slice(0, -1)
    // After a turn of the model's own there is none to open: it goes on, or follows itself.
    if (!this.#opensTurns || !isEmptyTurn(options) || before.at(-1)?.type === 'model') return state
    return { ...state, contextText: this.#renderOpen({ ...options, chatHistory: before }).contextText }
  }

  #renderOpen(options: ChatWrapperGenerateContextStateOptions): ChatWrapperGeneratedContextState {
    this.#parameters['add_generation_prompt'] = true
    try {
      return this.wrapper.generateContextState(options)
    } finally {
      delete this.#parameters['add_generation_prompt']
    }
  }
}

function isEmptyTurn({ chatHistory }: ChatWrapperGenerateContextStateOptions): boolean {
  const last = chatHistory.at(-1)
  return last?.type === 'model' && last.response.length === 1 && last.response[0] === ''
}
