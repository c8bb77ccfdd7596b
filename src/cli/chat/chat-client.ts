import { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'
import { loadingPhases, modelPhases } from '../../resources/model.ts'
import type { ModelState } from '../running/model-sentence.ts'
import { didYouMean } from '../suggestions.ts'
import { type EventFrame, eventFrames } from './event-frames.ts'
import type { GatewayDoor } from './gateway-door.ts'

export interface ChatMessage {
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: string
}

/** What comes of an answer: its text, or that the model still wakes. */
export type AnswerPart = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'waking' }

const stateSchema = z.looseObject({
  phase: z.enum(modelPhases).optional(),
  message: z.string().optional(),
  lastLoadSeconds: z.number().optional(),
  loading: z
    .looseObject({ phase: z.enum(loadingPhases), percent: z.number().optional(), stalled: z.boolean().optional() })
    .optional(),
})
const modelSchema = z.looseObject({ id: z.string(), sluice: stateSchema.optional().catch(undefined) })
const listSchema = z.looseObject({ data: z.array(modelSchema) })
const partSchema = z.looseObject({ content: z.string().nullish() })
/** A piece of an answer, or a whole one, since an engine may ignore `stream`. */
const chunkSchema = z.looseObject({
  choices: z.array(z.looseObject({ delta: partSchema.nullish(), message: partSchema.nullish() })).optional(),
  error: z.looseObject({ message: z.string().optional() }).optional(),
})
const failureSchema = z.looseObject({ error: z.looseObject({ message: z.string().optional() }) })

const questionDeadlineMs = 10_000

/** A gateway as somebody who chats sees it. */
export class ChatClient {
  readonly #door: GatewayDoor

  constructor(door: GatewayDoor) {
    this.#door = door
  }

  /** The model's state; an error that names others if there is none of that name. */
  async stateOf(model: string): Promise<ModelState> {
    const answer = await this.#door.ask('/openai/v1/models', undefined, AbortSignal.timeout(questionDeadlineMs))
    const text = await textOf(answer.bytes)
    const list = listSchema.safeParse(parsed(text)).data
    if (answer.status !== 200 || !list) throw answerFailed(failureOf(text, answer.status))
    const found = list.data.find(({ id }) => id === model)
    if (found) return found.sluice ?? {}
    const names = list.data.map(({ id }) => id)
    const others = names.length > 0 ? ` Models here: ${names.join(', ')}.` : ' There are none here yet.'
    const reason = `there is no model ${model}.${didYouMean(model, names) || others}`
    throw new SluiceError('invalid_flag', { flag: 'MODEL', reason })
  }

  /** Streams the answer to a conversation. */
  async *answer(model: string, messages: readonly ChatMessage[], signal: AbortSignal): AsyncGenerator<AnswerPart> {
    const { status, bytes } = await this.#door.ask(
      '/openai/v1/chat/completions',
      { model, messages, stream: true },
      signal,
    )
    if (status !== 200) throw answerFailed(failureOf(await textOf(bytes), status))
    for await (const frame of eventFrames(bytes)) {
      const part = partOf(frame)
      if (part) yield part
    }
  }
}

/** Of a refusal or a list of models. */
const largestText = 16 * 1024 * 1024

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of bytes) {
    size += chunk.length
    if (size > largestText) throw answerFailed(`the gateway's answer is larger than ${largestText} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function partOf({ data, comment }: EventFrame): AnswerPart | undefined {
  if (/^waking\b/i.test(comment)) return { kind: 'waking' }
  if (data === '' || data === '[DONE]') return undefined
  const { choices, error } = chunkSchema.safeParse(parsed(data)).data ?? {}
  if (error) throw answerFailed(error.message ?? 'the answer broke off.')
  const [choice] = choices ?? []
  const text = (choice?.delta ?? choice?.message)?.content
  return text ? { kind: 'text', text } : undefined
}

function failureOf(text: string, status: number): string {
  return failureSchema.safeParse(parsed(text)).data?.error.message ?? `the gateway answered ${status}.`
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function answerFailed(reason: string): SluiceError {
  return new SluiceError('answer_failed', { reason })
}
