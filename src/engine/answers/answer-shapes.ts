import type { Ending, TokenLogprob, ToolCall } from '../llama/language-model.ts'

/** The parts of an answer, in the shapes of the OpenAI API and with the fields that vLLM writes. */
export interface AnswerHead {
  readonly id: string
  readonly created: number
  readonly model: string
}

/** One complete answer of those that a request asked for. */
export interface WholeChoice {
  readonly index: number
  readonly text: string
  readonly toolCalls: readonly ToolCall[]
  readonly logprobs: readonly TokenLogprob[] | undefined
  readonly ending: Ending
}

/** A part of one answer, as it is streamed. */
export type ChoicePiece =
  | { readonly text: string; readonly logprobs: readonly TokenLogprob[] | undefined }
  | { readonly toolCall: ToolCall; readonly toolIndex: number }
  | { readonly ending: Ending }

export interface TokenCounts {
  readonly promptTokens: number
  readonly completionTokens: number
}

/** How one endpoint of the API writes its answers. */
export interface AnswerShape {
  readonly idPrefix: string
  whole(head: AnswerHead, choices: readonly WholeChoice[], counts: TokenCounts): object
  /** What is sent before the first text of a streamed choice, if anything. */
  opening(head: AnswerHead, index: number): object | undefined
  piece(head: AnswerHead, index: number, piece: ChoicePiece, textSoFar: number): object
  usage(head: AnswerHead, counts: TokenCounts): object
}

export const chatAnswer: AnswerShape = {
  idPrefix: 'chatcmpl-',
  whole: (head, choices, counts) => ({
    ...identity(head, 'chat.completion'),
    choices: choices.map(({ index, text, toolCalls, logprobs, ending }) => ({
      index,
      message: {
        role: 'assistant',
        content: text === '' && toolCalls.length > 0 ? null : text,
        tool_calls: toolCalls.map(toolCallOf),
      },
      logprobs: chatLogprobs(logprobs),
      finish_reason: ending.finishReason,
      stop_reason: ending.stopReason,
    })),
    usage: usageOf(counts),
    prompt_logprobs: null,
  }),
  opening: (head, index) => chatChunk(head, index, { role: 'assistant', content: '' }),
  piece: (head, index, piece) => {
    if ('ending' in piece) return chatChunk(head, index, { content: '' }, undefined, piece.ending)
    if ('text' in piece) return chatChunk(head, index, { content: piece.text }, piece.logprobs)
    return chatChunk(head, index, { tool_calls: [{ index: piece.toolIndex, ...toolCallOf(piece.toolCall) }] })
  },
  usage: (head, counts) => ({ ...identity(head, 'chat.completion.chunk'), choices: [], usage: usageOf(counts) }),
}

export const textAnswer: AnswerShape = {
  idPrefix: 'cmpl-',
  whole: (head, choices, counts) => ({
    ...identity(head, 'text_completion'),
    choices: choices.map(({ index, text, logprobs, ending }) => ({
      ...textChoice(index, text, textLogprobs(logprobs, 0), ending),
      prompt_logprobs: null,
    })),
    usage: usageOf(counts),
  }),
  opening: () => undefined,
  piece: (head, index, piece, textSoFar) => {
    const text = 'text' in piece ? piece.text : ''
    const logprobs = 'text' in piece ? textLogprobs(piece.logprobs, textSoFar) : null
    const ending = 'ending' in piece ? piece.ending : undefined
    return { ...identity(head, 'text_completion'), choices: [textChoice(index, text, logprobs, ending)] }
  },
  usage: (head, counts) => ({ ...identity(head, 'text_completion'), choices: [], usage: usageOf(counts) }),
}

function identity({ id, created, model }: AnswerHead, object: string): object {
  return { id, object, created, model }
}

function chatChunk(
  head: AnswerHead,
  index: number,
  delta: object,
  logprobs?: readonly TokenLogprob[],
  ending?: Ending,
): object {
  return {
    ...identity(head, 'chat.completion.chunk'),
    choices: [
      {
        index,
        delta,
        logprobs: chatLogprobs(logprobs),
        finish_reason: ending?.finishReason ?? null,
        // vLLM writes the stop reason only where the answer ends.
        ...(ending ? { stop_reason: ending.stopReason } : {}),
      },
    ],
  }
}

function textChoice(index: number, text: string, logprobs: object | null, ending: Ending | undefined): object {
  return {
    index,
    text,
    logprobs,
    finish_reason: ending?.finishReason ?? null,
    stop_reason: ending?.stopReason ?? null,
  }
}

function toolCallOf({ id, name, arguments: text }: ToolCall): object {
  return { id, type: 'function', function: { name, arguments: text } }
}

function chatLogprobs(logprobs: readonly TokenLogprob[] | undefined): object | null {
  if (!logprobs) return null
  const entry = ({ text, logprob }: { text: string; logprob: number }) => ({
    token: text,
    logprob,
    bytes: [...Buffer.from(text)],
  })
  return {
    content: logprobs.map((token) => ({ ...entry(token), top_logprobs: token.alternatives.map(entry) })),
    refusal: null,
  }
}

function textLogprobs(logprobs: readonly TokenLogprob[] | undefined, firstOffset: number): object | null {
  if (!logprobs) return null
  let offset = firstOffset
  const offsets = logprobs.map(({ text }) => {
    const at = offset
    offset += text.length
    return at
  })
  return {
    text_offset: offsets,
    token_logprobs: logprobs.map(({ logprob }) => logprob),
    tokens: logprobs.map(({ text }) => text),
    top_logprobs: logprobs.map(({ text, logprob, alternatives }) =>
      // The chosen token is always listed among the alternatives, as in OpenAI's answers.
      Object.fromEntries([...alternatives.map((other) => [other.text, other.logprob]), [text, logprob]]),
    ),
  }
}

/** What a stream says of its tokens where its client has not asked for them. The gateway reads these very words. */
export function tokensComment({ promptTokens, completionTokens }: TokenCounts): string {
  return `${promptTokens} prompt tokens, ${completionTokens} completion tokens`
}

function usageOf({ promptTokens, completionTokens }: TokenCounts): object {
  return {
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completionTokens,
    completion_tokens: completionTokens,
    prompt_tokens_details: null,
  }
}
