import { SluiceError } from '../../foundation/errors.ts'

/**
 * How many of each thing a request may have. They are counted first, because all later steps look at each item, and a
 * list of a million items is refused for its length alone.
 */
export const requestLimits = {
  messages: 10_000,
  /** Parts of contents and tool calls, in all messages together. */
  'content parts': 10_000,
  tools: 128,
  stop: 16,
  logit_bias: 4_096,
  metadata: 1_024,
  /** Texts or lists of tokens; the same limit as OpenAI's. */
  inputs: 2_048,
  /** In all inputs together; the same limit as OpenAI's. */
  'input tokens': 300_000,
} as const

type Limited = keyof typeof requestLimits
type Body = Readonly<Record<string, unknown>>

export function refuseTooMany(body: Body): void {
  for (const param of ['messages', 'tools', 'stop', 'logit_bias', 'metadata'] as const) {
    check(param, countOf(body[param]), param)
  }
  const { messages, tokens } = body
  if (Array.isArray(messages)) check('content parts', sum(messages.map(partsOf)), 'messages')
  for (const param of ['prompt', 'input'] as const) {
    const value: unknown = body[param]
    if (!Array.isArray(value)) continue
    const lists = value.filter((item) => Array.isArray(item))
    const single = typeof value[0] === 'number'
    check('inputs', single ? 1 : value.length, param)
    check('input tokens', single ? value.length : sum(lists.map(countOf)), param)
  }
  check('input tokens', countOf(tokens), 'tokens')
}

function check(what: Limited, count: number, param: string): void {
  if (count <= requestLimits[what]) return
  const reason = `${param}: ${count} ${what} are more than ${requestLimits[what]}. Send fewer, or several requests.`
  throw new SluiceError('invalid_request', { reason, param })
}

function countOf(value: unknown): number {
  if (Array.isArray(value)) return value.length
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0
}

function partsOf(message: unknown): number {
  if (typeof message !== 'object' || message === null) return 0
  const { content, tool_calls: calls } = { content: undefined, tool_calls: undefined, ...message }
  return (Array.isArray(content) ? countOf(content) : 0) + countOf(calls)
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
