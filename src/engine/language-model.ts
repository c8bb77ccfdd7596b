import type { Token } from 'node-llama-cpp'

/** What the HTTP face needs of a loaded model. */
export interface LanguageModel {
  /** Tokens a request may use, prompt and answer together. */
  readonly contextLength: number
  /** What a request that does not say gets. */
  readonly samplingDefaults: SamplingDefaults
  /** Raw text, as `/v1/completions` takes it. */
  textPrompt(text: string, addSpecialTokens?: boolean): Prompt
  /** A conversation in the model's own chat template, ending where its next turn begins. */
  chatPrompt(messages: readonly ChatMessage[]): Prompt
  /** Waits for a seat among the requests that compute together. Refuses when too many wait already. */
  reserve(prompt: Prompt, signal: AbortSignal): Promise<GenerationSeat>
  readonly load: { readonly running: number; readonly waiting: number }
  dispose(): Promise<void>
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

export interface Prompt {
  readonly tokens: readonly Token[]
  /** Text that belongs to the answer but was already written by the template, such as an opening `<think>`. */
  readonly opening: string
  /** Text that ends a turn in this template, beside the model's own end tokens. */
  readonly endings: readonly string[]
}

export interface Sampling {
  /** 0 always takes the likeliest token. */
  readonly temperature: number
  readonly topP: number
  /** 0 considers every token. */
  readonly topK: number
  readonly minP: number
  readonly seed: number
  readonly presencePenalty: number
  readonly frequencyPenalty: number
  /** 1 does nothing. */
  readonly repetitionPenalty: number
}

export type SamplingDefaults = Pick<Sampling, 'temperature' | 'topP' | 'topK' | 'minP' | 'repetitionPenalty'>

export interface GenerationOptions {
  readonly sampling: Sampling
  readonly stop: readonly string[]
  readonly maxTokens: number
}

export type GenerationEvent =
  | { readonly type: 'text'; readonly text: string; /** So far. */ readonly completionTokens: number }
  | {
      readonly type: 'end'
      readonly finishReason: 'stop' | 'length'
      /** The stop string that ended it, when one did. */
      readonly stopReason: string | null
      readonly completionTokens: number
    }

export interface GenerationSeat {
  /** Prompt tokens that need not be computed because an earlier request began alike. */
  readonly reusedTokens: number
  generate(options: GenerationOptions, signal: AbortSignal): AsyncGenerator<GenerationEvent, void, undefined>
  release(): void
}
