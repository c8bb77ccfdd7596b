import type {
  ChatWrapperGenerateContextStateOptions,
  ChatWrapperGeneratedContextState,
  JinjaTemplateChatWrapper,
  Tokenizer,
} from 'node-llama-cpp'
import { nextTurn } from '../llama/loop-turn.ts'
import type { TemplateLibrary } from './template-library.ts'

/** Rendering a history of up to this many turns takes a few milliseconds. */
export const shortHistory = 64

/**
 * A chat template inside a model file. To find where the next turn begins, the library renders a turn and cuts it off.
 * But templates have their own way to open a turn, and for reasoning models that is more than the role (`<think>`). So
 * if the template supports it, it opens the turn here.
 */
export class JinjaTemplate {
  readonly wrapper: JinjaTemplateChatWrapper
  /** Read by the wrapper at each rendering. */
  readonly #parameters: Record<string, unknown> = {}
  readonly #opensTurns: boolean

  constructor(template: string, tokenizer: Tokenizer, { JinjaTemplateChatWrapper: Wrapper }: TemplateLibrary) {
    this.wrapper = new Wrapper({
      template,
      tokenizer,
      // The messages stay as the client sent them: two user messages in a row remain two.
      joinAdjacentMessagesOfTheSameType: false,
      trimLeadingWhitespaceInResponses: false,
      additionalRenderParameters: this.#parameters,
      // To learn how tools are called, the library renders a dozen conversations. Most small models know no tools.
      functionCallMessageTemplate: template.includes('tool') ? 'auto' : 'noJinja',
    })
    const question = { chatHistory: [{ type: 'user', text: 'Hi' } as const] }
    const closed = this.wrapper.generateContextState(question).contextText.toString()
    this.#opensTurns = this.#renderOpen(question).contextText.toString() !== closed
  }

  /** Renders a history whose last item is the empty turn that is to be generated. */
  async generateContextState(
    options: ChatWrapperGenerateContextStateOptions,
    signal: AbortSignal,
  ): Promise<ChatWrapperGeneratedContextState> {
    const state = this.wrapper.generateContextState(options)
    if (options.chatHistory.length > shortHistory) await nextTurn(signal)
    const before = options.chatHistory.slice(0, -1)
    // After a turn of the model no new one is opened: the model continues its own.
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
