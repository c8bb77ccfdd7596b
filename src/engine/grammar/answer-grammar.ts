import { createHash } from 'node:crypto'
import type { GbnfJsonSchema } from 'node-llama-cpp'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import { gbnfSchema, toGbnfSchema } from './json-schema.ts'
import type { AnswerConstraint, AnswerFormat } from '../llama/language-model.ts'
import { liftRules } from './lifted-rules.ts'
import { literalRules } from './literal-trie.ts'
import { libraryModule } from '../library/library-module.ts'
import { nextTurn } from '../llama/loop-turn.ts'
import type { LlamaAddon, NativeGrammar } from '../llama/native/llama-addon.ts'
import { jsonObjectGrammar } from './json-object-grammar.ts'
import { checkAlternatives } from './schema-alternatives.ts'

/**
 * The end of the grammars that the library makes: empty lines, which it cuts off later. Ours end where the value ends.
 */
const libraryEnding = / "(?:\\n){4}" \[\\n\]\*$/m
/** How many compiled grammars are kept, the most recently used ones. */
const rememberedGrammars = 32

/** Compiles grammars for the forms that answers must have, and keeps them for the next request with the same form. */
export class AnswerGrammars {
  readonly #addon: LlamaAddon
  readonly #compiled = new Map<string, Promise<NativeGrammar>>()

  constructor(addon: LlamaAddon) {
    this.#addon = addon
  }

  async compile(format: AnswerFormat): Promise<AnswerConstraint> {
    const key = createHash('sha256').update(JSON.stringify(format)).digest('base64')
    const known = this.#compiled.get(key)
    this.#compiled.delete(key)
    const grammar = known ?? this.#create(format)
    this.#compiled.set(key, grammar)
    if (!known) grammar.catch(() => this.#compiled.delete(key))
    const [oldest] = this.#compiled.keys()
    if (this.#compiled.size > rememberedGrammars && oldest !== undefined) this.#compiled.delete(oldest)
    return { grammar: await grammar }
  }

  async #create(format: AnswerFormat): Promise<NativeGrammar> {
    switch (format.type) {
      case 'one_of':
        return this.#parse(oneOfGrammar(format.texts))
      case 'json_object':
        return this.#parse(jsonObjectGrammar)
      case 'json_schema':
        return this.#forSchema(format.schema, format.param)
      default:
        throw new SluiceError('internal_error')
    }
  }

  #parse(text: string): NativeGrammar {
    return new this.#addon.AddonGrammar(text, { addonExports: this.#addon })
  }

  async #forSchema(schema: unknown, param: string): Promise<NativeGrammar> {
    // For the largest schema that is accepted, each of these steps takes about 20 ms, and the library's own about 50
    // ms. Other requests get their turn in between.
    const converted = toGbnfSchema(schema, param)
    await nextTurn()
    checkAlternatives(converted, param)
    await nextTurn()
    const { schema: subset, putBack } = liftRules(converted, param)
    await nextTurn()
    try {
      const { getGbnfGrammarForGbnfJsonSchema } = await schemaGrammars()
      const grammar = getGbnfGrammarForGbnfJsonSchema(gbnfSchema(subset))
      if (!libraryEnding.test(grammar)) throw new Error('its grammar ends in an unknown way')
      await nextTurn()
      const whole = putBack(grammar.replace(libraryEnding, ''))
      await nextTurn()
      return this.#parse(whole)
    } catch (error) {
      if (error instanceof SluiceError) throw error
      const reason = `The schema cannot be used: ${errorMessage(error)}`
      throw new SluiceError('invalid_request', { reason, param }, { cause: error })
    }
  }
}

interface SchemaGrammars {
  readonly getGbnfGrammarForGbnfJsonSchema: (schema: Readonly<GbnfJsonSchema>) => string
}

/** Imported by the first request that needs it. */
function schemaGrammars(): Promise<SchemaGrammars> {
  return libraryModule(
    './utils/gbnfJson/getGbnfGrammarForGbnfJsonSchema.js',
    (module): module is SchemaGrammars => 'getGbnfGrammarForGbnfJsonSchema' in module,
  )
}

function oneOfGrammar(texts: readonly string[]): string {
  const { expression, rules } = literalRules(texts, 'text')
  return [`root ::= ${expression}`, ...rules].join('\n')
}

export function requireGrammar({ grammar }: AnswerConstraint): NativeGrammar {
  if (!isGrammar(grammar)) throw new SluiceError('internal_error')
  return grammar
}

function isGrammar(grammar: unknown): grammar is NativeGrammar {
  return typeof grammar === 'object' && grammar !== null && 'isTextCompatible' in grammar
}
