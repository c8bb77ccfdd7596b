import type { Token } from './native/loaded-model.ts'
import type { ToolChoice, ToolDefinition } from '../requests/tool-definitions.ts'

/** A loaded model, as the HTTP interface uses it. */
export interface LanguageModel {
  /** How many tokens a request may use for prompt and answer together. */
  readonly contextLength: number
  readonly vocabularySize: number
  /** The sampling of requests that do not specify it. */
  readonly samplingDefaults: SamplingDefaults
  /** The prompt for raw text, as `/v1/completions` takes it. */
  textPrompt(text: string, signal: AbortSignal): Promise<Prompt>
  tokenPrompt(tokens: readonly number[]): Prompt
  /** The prompt for a conversation in the model's own chat template, up to where its next turn begins. */
  chatPrompt(messages: readonly ChatMessage[], tools: readonly ToolDefinition[], signal: AbortSignal): Promise<Prompt>
  /** The tokens of a text, which may be somewhat longer than a prompt. */
  tokenize(text: string, addSpecialTokens: boolean, signal: AbortSignal): Promise<readonly Token[]>
  tokenText(tokens: readonly number[]): string
  isEndToken(token: number): boolean
  /** Compiles the form that an answer must have; refuses a schema that cannot be enforced. */
  constrain(format: AnswerFormat): Promise<AnswerConstraint>
  /** Waits for a seat among the requests that are computed together. Refuses when too many are waiting already. */
  reserve(prompt: Prompt, signal: AbortSignal): Promise<GenerationSeat>
  /** One vector of length 1 for each input. */
  embed(inputs: readonly (string | readonly number[])[], signal: AbortSignal): Promise<Embeddings>
  readonly load: { readonly running: number; readonly waiting: number }
  dispose(): Promise<void>
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON text. */
  readonly arguments: string
}

export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly toolCalls: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly content: string; readonly toolCallId: string }

export interface Prompt {
  readonly tokens: readonly Token[]
  /** Text of the answer that the template has already written, such as an opening `<think>`. */
  readonly opening: string
  /** Texts that end a turn in this template, in addition to the model's end tokens. */
  readonly endings: readonly string[]
  /** How this model writes tool calls, if the prompt offers tools. */
  readonly toolSyntax?: ToolSyntax | undefined
}

/** A call consists of `prefix`, the name, `paramsPrefix`, the arguments and `suffix`. */
export interface ToolSyntax {
  readonly prefix: string
  readonly paramsPrefix: string
  readonly suffix: string
  readonly betweenCalls: string
}

export interface Sampling {
  /** 0 always takes the likeliest token. */
  readonly temperature: number
  readonly topP: number
  /** 0 considers all tokens. */
  readonly topK: number
  readonly minP: number
  readonly seed: number
  readonly presencePenalty: number
  readonly frequencyPenalty: number
  /** 1 has no effect. */
  readonly repetitionPenalty: number
  /** Added to the logits of single tokens, by token. */
  readonly logitBias: ReadonlyMap<number, number>
}

export type SamplingDefaults = Pick<Sampling, 'temperature' | 'topP' | 'topK' | 'minP' | 'repetitionPenalty'>

export type AnswerFormat =
  | { readonly type: 'json_object' }
  | { readonly type: 'json_schema'; readonly schema: unknown; readonly param: string }
  | { readonly type: 'one_of'; readonly texts: readonly string[] }

/** The compiled form of an answer; only the model that made it can look inside. */
export interface AnswerConstraint {
  readonly grammar: unknown
}

export interface GenerationOptions {
  readonly sampling: Sampling
  readonly stop: readonly string[]
  readonly maxTokens: number
  readonly ignoreEnd?: boolean | undefined
  /** How many alternatives to report for each token; undefined reports no probabilities. */
  readonly logprobs?: number | undefined
  readonly constraint?: AnswerConstraint | undefined
  readonly tools?: {
    readonly definitions: readonly ToolDefinition[]
    readonly choice: ToolChoice
    readonly parallel: boolean
  }
}

export interface TokenProbability {
  readonly text: string
  /** Natural logarithm. */
  readonly logprob: number
}

export interface TokenLogprob extends TokenProbability {
  readonly alternatives: readonly TokenProbability[]
}

export interface Ending {
  readonly finishReason: 'stop' | 'length' | 'tool_calls'
  /** The stop string that ended the answer, if one did. */
  readonly stopReason: string | null
}

export type GenerationEvent =
  | {
      readonly type: 'text'
      readonly text: string
      /** The number of tokens generated so far. */
      readonly completionTokens: number
      readonly logprobs?: readonly TokenLogprob[] | undefined
    }
  | { readonly type: 'tool_call'; readonly call: ToolCall; readonly completionTokens: number }
  | ({ readonly type: 'end'; readonly completionTokens: number } & Ending)

export interface GenerationSeat {
  /** How many prompt tokens need not be computed because an earlier request began with the same ones. */
  readonly reusedTokens: number
  generate(options: GenerationOptions, signal: AbortSignal): AsyncGenerator<GenerationEvent, void, undefined>
  release(): void
}

export interface Embeddings {
  readonly vectors: readonly (readonly number[])[]
  readonly promptTokens: number
}
