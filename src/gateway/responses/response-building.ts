import type { OpenAiError } from '../answers/openai-errors.ts'
import { type Fields, fieldOf, isFields } from './request-fields.ts'
import {
  itemObject,
  type ItemStatus,
  newId,
  type OutputItem,
  partObject,
  type ResponseUsage,
  responseUsage,
} from './response-output.ts'

/** An answer's text is kept until its end, because the last events repeat it. */
const mostTextBytes = 16 * 1024 * 1024
/** More calls than any model makes in one turn. */
const mostItems = 1_024

export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed'

/** An event of a streamed response. Its number is added when it is sent. */
export interface ResponseEvent {
  readonly type: string
  readonly [field: string]: unknown
}

type CallItem = Extract<OutputItem, { kind: 'call' }>

/**
 * Builds a response out of what an engine answers to a chat completion, whole or chunk by chunk, and says by events
 * what has changed.
 */
export class ResponseBuilding {
  readonly #id = newId('resp_')
  readonly #createdAt: number
  readonly #model: string
  readonly #echo: Fields
  readonly #output: OutputItem[] = []
  readonly #closed = new Map<OutputItem, ItemStatus>()
  readonly #emit: (event: ResponseEvent) => void
  #textBytes = 0
  #usage: ResponseUsage | null = null
  #finishReason: string | undefined

  constructor(
    about: { readonly model: string; readonly echo: Fields; readonly now: number },
    emit: (event: ResponseEvent) => void,
  ) {
    this.#model = about.model
    this.#echo = about.echo
    this.#createdAt = Math.floor(about.now / 1000)
    this.#emit = emit
  }

  begin(): void {
    this.#emit({ type: 'response.created', response: this.response('in_progress') })
    this.#emit({ type: 'response.in_progress', response: this.response('in_progress') })
  }

  /** Takes a chat completion, or a chunk of one. */
  push(completion: Fields): void {
    const usage = responseUsage(fieldOf(completion, 'usage'))
    if (usage) this.#usage = usage
    const choices = fieldOf(completion, 'choices')
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
    if (!isFields(choice)) return
    const message = fieldOf(choice, 'delta') ?? fieldOf(choice, 'message')
    if (isFields(message)) this.#add(message, tokenLogprobs(choice))
    const reason = fieldOf(choice, 'finish_reason')
    if (typeof reason === 'string') this.#finishReason = reason
  }

  /** Whether the engine has said that the answer is over. */
  get finished(): boolean {
    return this.#finishReason !== undefined
  }

  /** Ends all items and the response. */
  end(): Fields {
    const cutOff = this.#finishReason === 'length' || this.#finishReason === 'content_filter'
    const status = cutOff ? 'incomplete' : 'completed'
    for (const item of this.#output) this.#close(item, status)
    const response = this.response(status)
    this.#emit({ type: `response.${status}`, response })
    return response
  }

  fail({ error }: OpenAiError): void {
    this.#emit({ type: 'response.failed', response: this.response('failed', error) })
  }

  response(status: ResponseStatus, error?: OpenAiError['error']): Fields {
    return {
      id: this.#id,
      object: 'response',
      created_at: this.#createdAt,
      status,
      background: false,
      error: error ? { code: error.code, message: error.message } : null,
      incomplete_details: status === 'incomplete' ? { reason: incompleteReason(this.#finishReason) } : null,
      model: this.#model,
      output: this.#output.map((item) => itemObject(item, this.#closed.get(item) ?? 'in_progress')),
      previous_response_id: null,
      service_tier: 'default',
      store: false,
      truncation: 'disabled',
      usage: this.#usage,
      user: null,
      ...this.#echo,
    }
  }

  #add(message: Fields, logprobs: readonly unknown[]): void {
    const reasoning = fieldOf(message, 'reasoning_content') ?? fieldOf(message, 'reasoning')
    if (typeof reasoning === 'string' && reasoning !== '') this.#addReasoning(reasoning)
    const content = fieldOf(message, 'content')
    if (typeof content === 'string' && content !== '') this.#addText(content, logprobs)
    const calls = fieldOf(message, 'tool_calls')
    if (Array.isArray(calls)) for (const [at, call] of calls.entries()) if (isFields(call)) this.#addCall(call, at)
  }

  #addReasoning(delta: string): void {
    const last = this.#output.at(-1)
    const item = last?.kind === 'reasoning' ? last : this.#open({ kind: 'reasoning', id: newId('rs_'), text: '' })
    const where = this.#partOf(item)
    if (item.text === '') this.#emit({ type: 'response.content_part.added', ...where, part: partObject(item) })
    item.text += this.#counted(delta)
    this.#emit({ type: 'response.reasoning_text.delta', ...where, delta })
  }

  #addText(delta: string, logprobs: readonly unknown[]): void {
    const last = this.#output.at(-1)
    const isOpen = last?.kind === 'message'
    const item = isOpen ? last : this.#open({ kind: 'message', id: newId('msg_'), text: '', logprobs: [] })
    const where = this.#partOf(item)
    if (item.text === '') this.#emit({ type: 'response.content_part.added', ...where, part: partObject(item) })
    item.text += this.#counted(delta)
    for (const logprob of logprobs) item.logprobs.push(logprob)
    this.#emit({ type: 'response.output_text.delta', ...where, delta, logprobs })
  }

  /** A call's name comes with its first part; whole answers do not number their calls. */
  #addCall(call: Fields, at: number): void {
    const numbered = fieldOf(call, 'index')
    const index = typeof numbered === 'number' ? numbered : at
    const called = fieldOf(call, 'function')
    const fields = isFields(called) ? called : {}
    const known = this.#output.find((item): item is CallItem => item.kind === 'call' && item.index === index)
    const item = known ?? this.#open(newCall(index, call, fields))
    const delta = fieldOf(fields, 'arguments')
    if (typeof delta !== 'string' || delta === '') return
    item.text += this.#counted(delta)
    this.#emit({ type: 'response.function_call_arguments.delta', ...this.#placeOf(item), delta })
  }

  /** What the model reasons or says is over when it begins something else. Its calls may come in turns. */
  #open<T extends OutputItem>(item: T): T {
    if (this.#output.length >= mostItems) throw new Error('the answer has too many items')
    const last = this.#output.at(-1)
    if (last && last.kind !== 'call') this.#close(last, 'completed')
    this.#output.push(item)
    const { output_index } = this.#placeOf(item)
    this.#emit({ type: 'response.output_item.added', output_index, item: itemObject(item, 'in_progress') })
    return item
  }

  #close(item: OutputItem, status: ItemStatus): void {
    if (this.#closed.has(item)) return
    this.#closed.set(item, status)
    const place = this.#placeOf(item)
    const { output_index } = place
    if (item.kind === 'call') {
      const { name, text } = item
      this.#emit({ type: 'response.function_call_arguments.done', ...place, name, arguments: text })
    } else {
      this.#closePart(item)
    }
    this.#emit({ type: 'response.output_item.done', output_index, item: itemObject(item, status) })
  }

  #closePart(item: Exclude<OutputItem, CallItem>): void {
    const where = this.#partOf(item)
    const { text } = item
    if (item.kind === 'reasoning') this.#emit({ type: 'response.reasoning_text.done', ...where, text })
    else this.#emit({ type: 'response.output_text.done', ...where, text, logprobs: item.logprobs })
    this.#emit({ type: 'response.content_part.done', ...where, part: partObject(item) })
  }

  #placeOf(item: OutputItem): { item_id: string; output_index: number } {
    return { item_id: item.id, output_index: this.#output.indexOf(item) }
  }

  #partOf(item: OutputItem): { item_id: string; output_index: number; content_index: number } {
    return { ...this.#placeOf(item), content_index: 0 }
  }

  #counted(text: string): string {
    this.#textBytes += text.length
    if (this.#textBytes > mostTextBytes) throw new Error(`the answer is longer than ${mostTextBytes} bytes`)
    return text
  }
}

function newCall(index: number, call: Fields, called: Fields): CallItem {
  const id = fieldOf(call, 'id')
  const name = fieldOf(called, 'name')
  return {
    kind: 'call',
    id: newId('fc_'),
    callId: typeof id === 'string' && id !== '' ? id : newId('call_'),
    name: typeof name === 'string' ? name : '',
    index,
    text: '',
  }
}

function tokenLogprobs(choice: Fields): readonly unknown[] {
  const logprobs = fieldOf(choice, 'logprobs')
  const content = isFields(logprobs) ? fieldOf(logprobs, 'content') : undefined
  return Array.isArray(content) ? content : []
}

function incompleteReason(finishReason: string | undefined): string {
  return finishReason === 'content_filter' ? 'content_filter' : 'max_output_tokens'
}
