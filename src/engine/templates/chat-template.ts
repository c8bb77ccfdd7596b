import type { ChatHistoryItem, ChatModelFunctions, ChatWrapper, LlamaText } from 'node-llama-cpp'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import { toChatHistory } from '../requests/chat-history.ts'
import { JinjaTemplate, shortHistory } from './jinja-template.ts'
import { gbnfSchema, toGbnfSchema } from '../grammar/json-schema.ts'
import type { ChatMessage, Prompt, ToolSyntax } from '../llama/language-model.ts'
import { nextTurn } from '../llama/loop-turn.ts'
import type { LoadedModel } from '../llama/native/loaded-model.ts'
import { libraryTokenizer } from './library-tokenizer.ts'
import { type TemplateLibrary, knownWrapper } from './template-library.ts'
import { PromptTokenizer, longestTokenCharacters, tooLong } from '../requests/prompt-tokens.ts'
import { SchemaBudget } from '../grammar/schema-budget.ts'
import type { ToolDefinition } from '../requests/tool-definitions.ts'

/** Writes a conversation in the form that the model was trained on. */
export interface ChatTemplate {
  /** Refuses a conversation of more than `most` tokens without tokenizing all of it. */
  render(
    messages: readonly ChatMessage[],
    tools: readonly ToolDefinition[],
    most: number,
    signal: AbortSignal,
  ): Promise<Prompt>
}

/** The given template, else the one inside the model file, else what the library knows for this kind of model. */
export async function createChatTemplate(
  model: LoadedModel,
  file: string,
  given: string | undefined,
  library: TemplateLibrary,
  log: Logger,
): Promise<ChatTemplate> {
  const template = given ?? model.header.text('tokenizer.chat_template')
  if (template === undefined) return { render: refuseWithoutTemplate }
  const wrapper = await wrapTemplate({ model, file, template, given: given !== undefined, library, log })
  const toolSyntax = toolSyntaxOf(wrapper, library)
  const leastTokens = leastTokensPerTurn(wrapper, model)
  return {
    render: async (messages, tools, most, signal) => {
      const asked = tools.length > 0 || messages.some(usesTools)
      if (asked && !toolSyntax) throw refuseTools(tools.length > 0 ? 'tools' : 'messages')
      refuseHopeless(messages, most, leastTokens)
      const [history, functions] = [toChatHistory(messages), toFunctions(tools)]
      const turn = () => (history.length > shortHistory || functions ? nextTurn(signal) : undefined)
      await turn()
      const state = await stateOf(wrapper, history, functions, signal)
      await turn()
      const prompt = await toPrompt(state, model, library, most, signal)
      return tools.length > 0 ? { ...prompt, toolSyntax } : prompt
    },
  }
}

type Wrapper = JinjaTemplate | ChatWrapper
type ContextState = ReturnType<ChatWrapper['generateContextState']>

const longestOpening = 64

async function wrapTemplate(parts: {
  readonly model: LoadedModel
  readonly file: string
  readonly template: string
  readonly given: boolean
  readonly library: TemplateLibrary
  readonly log: Logger
}): Promise<Wrapper> {
  const { model, file, template, given, library, log } = parts
  try {
    return new JinjaTemplate(template, libraryTokenizer(model), library)
  } catch (error) {
    if (given) {
      throw new SluiceError('engine_start_failed', {
        reason: `chat_template.jinja cannot be used: ${errorMessage(error)}`,
      })
    }
    const wrapper = await knownWrapper(file, model)
    log.warn({ err: error, wrapper: wrapper.wrapperName }, "the model's own chat template cannot be used")
    return wrapper
  }
}

/** How the template writes tool calls; undefined if it does not support them. */
function toolSyntaxOf(wrapper: Wrapper, { LlamaText }: TemplateLibrary): ToolSyntax | undefined {
  if (!(wrapper instanceof JinjaTemplate) || !wrapper.wrapper.usingJinjaFunctionCallTemplate) return undefined
  const { call, parallelism } = wrapper.wrapper.settings.functions
  return {
    prefix: LlamaText(call.prefix).toString(),
    paramsPrefix: LlamaText(call.paramsPrefix).toString(),
    suffix: LlamaText(call.suffix).toString(),
    betweenCalls: LlamaText(parallelism?.call.betweenCalls ?? '').toString(),
  }
}

/** Refuses a conversation with more messages or characters than could ever fit, before it is rendered. */
function refuseHopeless(messages: readonly ChatMessage[], most: number, leastTokens: number): void {
  const characters = messages.reduce((sum, { content }) => sum + content.length, 0)
  if (messages.length * leastTokens > most || characters > most * longestTokenCharacters) throw tooLong(most)
}

/**
 * A lower bound on the tokens of a turn: half of what a turn of one letter takes in this template on average. The
 * markup is there however short a turn is.
 */
function leastTokensPerTurn(wrapper: Wrapper, model: LoadedModel): number {
  const plain = wrapper instanceof JinjaTemplate ? wrapper.wrapper : wrapper
  const pair: ChatHistoryItem[] = [
    { type: 'user', text: 'x' },
    { type: 'model', response: ['x'] },
  ]
  const tokensOf = (chatHistory: ChatHistoryItem[]) =>
    plain.generateContextState({ chatHistory }).contextText.tokenize(libraryTokenizer(model)).length
  try {
    const perTurn = (tokensOf([...pair, ...pair, ...pair]) - tokensOf(pair)) / 4
    return Math.max(1, Math.floor(perTurn / 2))
  } catch {
    return 1
  }
}

async function toPrompt(
  state: ContextState,
  model: LoadedModel,
  library: TemplateLibrary,
  most: number,
  signal: AbortSignal,
): Promise<Prompt> {
  const endings = state.stopGenerationTriggers.flatMap((trigger) => {
    const tokens = trigger.tokenize(libraryTokenizer(model))
    // A trigger that begins with an end token needs no watching, since the model stops there by itself.
    if (tokens[0] === undefined || model.isEndToken(tokens[0])) return []
    const text = model.detokenize(tokens)
    return text.trim() === '' ? [] : [text]
  })
  const tokens = await new PromptTokenizer(model).templated(state.contextText, most, signal)
  if (model.prependsBos && model.bos !== undefined && tokens[0] !== model.bos) tokens.unshift(model.bos)
  return { tokens, opening: openingOf(state.contextText, library), endings }
}

/** The beginning of a reasoning section if the template has opened it: clients must see it begin. */
export function openingOf(
  { values }: Pick<LlamaText, 'values'>,
  { LlamaText: join }: Pick<TemplateLibrary, 'LlamaText'>,
): string {
  const end = join(values.slice(-2)).toString().slice(-longestOpening)
  return /<think>\s*$/.exec(end)?.[0] ?? ''
}

async function stateOf(
  wrapper: Wrapper,
  chatHistory: ChatHistoryItem[],
  availableFunctions: ChatModelFunctions | undefined,
  signal: AbortSignal,
): Promise<ContextState> {
  const options = { chatHistory, ...(availableFunctions ? { availableFunctions } : {}) }
  try {
    return await wrapper.generateContextState(options, signal)
  } catch (error) {
    signal.throwIfAborted()
    throw new SluiceError(
      'invalid_request',
      { reason: `The model's chat template refuses these messages: ${errorMessage(error)}`, param: 'messages' },
      { cause: error },
    )
  }
}

function toFunctions(tools: readonly ToolDefinition[]): ChatModelFunctions | undefined {
  if (tools.length === 0) return undefined
  const budget = new SchemaBudget()
  return Object.fromEntries(
    tools.map(({ name, description, parameters }, index) => [
      name,
      {
        ...(description === undefined ? {} : { description }),
        ...(parameters === undefined
          ? {}
          : { params: gbnfSchema(toGbnfSchema(parameters, `tools[${index}].function.parameters`, budget)) }),
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
