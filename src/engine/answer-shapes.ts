/** What an answer is made of: the shapes of the OpenAI API as vLLM writes them, field by field. */
export interface AnswerHead {
  readonly id: string
  readonly created: number
  readonly model: string
}

export interface Finish {
  readonly finishReason: 'stop' | 'length'
  readonly stopReason: string | null
}

export interface TokenCounts {
  readonly promptTokens: number
  readonly completionTokens: number
}

/** How one endpoint writes its answers. */
export interface AnswerShape {
  readonly idPrefix: string
  whole(head: AnswerHead, text: string, finish: Finish, counts: TokenCounts): object
  /** What precedes the first text of a stream, when something does. */
  opening(head: AnswerHead): object | undefined
  piece(head: AnswerHead, text: string): object
  closing(head: AnswerHead, finish: Finish): object
  usage(head: AnswerHead, counts: TokenCounts): object
}

export const chatAnswer: AnswerShape = {
  idPrefix: 'chatcmpl-',
  whole: (head, text, finish, counts) => ({
    ...identity(head, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text, tool_calls: [] },
        logprobs: null,
        finish_reason: finish.finishReason,
        stop_reason: finish.stopReason,
      },
    ],
    usage: usageOf(counts),
    prompt_logprobs: null,
  }),
  opening: (head) => chatChunk(head, { role: 'assistant', content: '' }, null),
  piece: (head, text) => chatChunk(head, { content: text }, null),
  closing: (head, finish) => chatChunk(head, { content: '' }, finish),
  usage: (head, counts) => ({ ...identity(head, 'chat.completion.chunk'), choices: [], usage: usageOf(counts) }),
}

export const textAnswer: AnswerShape = {
  idPrefix: 'cmpl-',
  whole: (head, text, finish, counts) => ({
    ...identity(head, 'text_completion'),
    choices: [{ ...textChoice(text, finish), prompt_logprobs: null }],
    usage: usageOf(counts),
  }),
  opening: () => undefined,
  piece: (head, text) => ({ ...identity(head, 'text_completion'), choices: [textChoice(text, null)] }),
  closing: (head, finish) => ({ ...identity(head, 'text_completion'), choices: [textChoice('', finish)] }),
  usage: (head, counts) => ({ ...identity(head, 'text_completion'), choices: [], usage: usageOf(counts) }),
}

function identity({ id, created, model }: AnswerHead, object: string): object {
  return { id, object, created, model }
}

function chatChunk(head: AnswerHead, delta: object, finish: Finish | null): object {
  return {
    ...identity(head, 'chat.completion.chunk'),
    choices: [
      {
        index: 0,
        delta,
        logprobs: null,
        finish_reason: finish?.finishReason ?? null,
        // vLLM writes the stop reason only where the answer ends.
        ...(finish ? { stop_reason: finish.stopReason } : {}),
      },
    ],
  }
}

function textChoice(text: string, finish: Finish | null): object {
  return {
    index: 0,
    text,
    logprobs: null,
    finish_reason: finish?.finishReason ?? null,
    stop_reason: finish?.stopReason ?? null,
  }
}

function usageOf({ promptTokens, completionTokens }: TokenCounts): object {
  return {
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completionTokens,
    completion_tokens: completionTokens,
    prompt_tokens_details: null,
  }
}
