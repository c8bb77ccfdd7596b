import { randomUUID } from 'node:crypto'
import type { Token } from '../llama/native/loaded-model.ts'
import { SluiceError } from '../../foundation/errors.ts'
import { type ComputingSequence, alignSequence, generate } from '../llama/generation.ts'
import type {
  AnswerConstraint,
  AnswerFormat,
  GenerationEvent,
  GenerationOptions,
  Prompt,
  ToolSyntax,
} from '../llama/language-model.ts'
import type { ToolDefinition } from '../requests/tool-definitions.ts'

const mostCalls = 16
/** How far to look for another call after one: a model either calls again at once or has nothing more to say. */
const lookForNextTokens = 16

export interface ToolGenerationParts {
  readonly computing: ComputingSequence
  readonly prompt: Prompt
  readonly syntax: ToolSyntax
  readonly constrain: (format: AnswerFormat) => Promise<AnswerConstraint>
  readonly tokenize: (markup: string) => Token[]
}

type Tools = NonNullable<GenerationOptions['tools']>

/**
 * Generates an answer that may call tools. The model writes freely until it begins a call. From there a grammar holds
 * it to the names and schemas of the tools, so that every call is one that the client can execute.
 */
export async function* generateWithTools(
  parts: ToolGenerationParts,
  options: GenerationOptions & { readonly tools: Tools },
  signal: AbortSignal,
): AsyncGenerator<GenerationEvent, void, undefined> {
  const { syntax } = parts
  const { choice, definitions, parallel } = options.tools
  const writing = new Writing(parts, options, signal)
  const trigger = triggerOf(syntax)

  if (choice.type === 'auto') {
    const free = writing.part({ stop: [...options.stop, trigger], maxTokens: writing.tokensLeft })
    for await (const event of free) {
      if (event.type !== 'end' || event.stopReason !== trigger) yield event
      if (event.type === 'end' && event.stopReason !== trigger) return
    }
  }
  const callable = choice.type === 'function' ? definitions.filter(({ name }) => name === choice.name) : definitions
  for (let calls = 0; calls < mostCalls; calls++) {
    writing.put(calls === 0 ? '' : syntax.betweenCalls)
    const call = await writing.call(callable)
    if (call) yield { type: 'tool_call', call, completionTokens: writing.completionTokens }
    if (!call || writing.tokensLeft <= 0) {
      yield { type: 'end', finishReason: 'length', stopReason: null, completionTokens: writing.completionTokens }
      return
    }
    if (!parallel || choice.type === 'function' || !(await writing.opens(trigger))) break
  }
  yield { type: 'end', finishReason: 'tool_calls', stopReason: null, completionTokens: writing.completionTokens }
}

/**
 * The text that reliably announces a call: only the first word of the prefix, since models vary the white space after
 * it.
 */
function triggerOf({ prefix }: ToolSyntax): string {
  return prefix.trim().split(/\s/)[0] ?? prefix
}

/** An answer in progress: the text so far, written by the model or inserted for it, and how many tokens are left. */
class Writing {
  completionTokens = 0
  #written = ''
  readonly #parts: ToolGenerationParts
  readonly #options: GenerationOptions
  readonly #signal: AbortSignal

  constructor(parts: ToolGenerationParts, options: GenerationOptions, signal: AbortSignal) {
    this.#parts = parts
    this.#options = options
    this.#signal = signal
  }

  get tokensLeft(): number {
    return this.#options.maxTokens - this.completionTokens
  }

  put(text: string): void {
    this.#written += text
  }

  /** Lets the model continue from the text so far. */
  async *part(
    more: Partial<GenerationOptions> & { readonly maxTokens: number },
  ): AsyncGenerator<GenerationEvent, void, undefined> {
    const { computing, prompt, tokenize } = this.#parts
    const tokens = this.#written === '' ? prompt.tokens : [...prompt.tokens, ...tokenize(this.#written)]
    await alignSequence(computing, tokens)
    const before = this.completionTokens
    const opening = this.#written === '' ? prompt.opening : ''
    const { tools: _, ...plain } = this.#options
    for await (const event of generate(
      computing,
      { ...prompt, tokens, opening },
      { ...plain, ...more },
      this.#signal,
    )) {
      this.completionTokens = before + event.completionTokens
      if (event.type === 'text') this.#written += event.text
      yield { ...event, completionTokens: this.completionTokens }
    }
  }

  /** Generates one whole call; undefined when the tokens ran out before its name was complete. */
  async call(callable: readonly ToolDefinition[]) {
    const { syntax } = this.#parts
    this.put(syntax.prefix)
    const name = await this.#chooseName(callable)
    if (name === undefined) return undefined
    this.put(`${name}${syntax.paramsPrefix}`)
    const text = await this.#writeArguments(callable.find((tool) => tool.name === name)?.parameters)
    this.put(`${text}${syntax.suffix}`)
    return { id: `chatcmpl-tool-${randomUUID().replaceAll('-', '')}`, name, arguments: text }
  }

  /** Whether the model begins another call. */
  async opens(trigger: string): Promise<boolean> {
    const rest = this.part({ stop: [trigger], maxTokens: Math.min(lookForNextTokens, this.tokensLeft) })
    for await (const event of rest) if (event.type === 'end') return event.stopReason === trigger
    return false
  }

  async #chooseName(callable: readonly ToolDefinition[]): Promise<string | undefined> {
    const [only, ...others] = callable
    if (!only) throw new SluiceError('internal_error')
    if (others.length === 0) return only.name
    const { syntax } = this.#parts
    // Each name is followed by its delimiter, so that a name which is the beginning of another can be told from it.
    const texts = callable.map(({ name }) => `${name}${syntax.paramsPrefix}`)
    const written = await this.#constrained({ type: 'one_of', texts })
    return callable.find((_, index) => texts[index] === written)?.name
  }

  async #writeArguments(parameters: unknown): Promise<string> {
    if (parameters === undefined) return '{}'
    return this.#constrained({ type: 'json_schema', schema: parameters, param: 'tools' })
  }

  async #constrained(format: AnswerFormat): Promise<string> {
    if (this.tokensLeft <= 0) return ''
    const constraint = await this.#parts.constrain(format)
    const before = this.#written
    let text = ''
    for await (const event of this.part({ constraint, stop: [], maxTokens: this.tokensLeft })) {
      if (event.type === 'text') text += event.text
    }
    // The caller adds the text itself, with what belongs around it.
    this.#written = before
    return text
  }
}
