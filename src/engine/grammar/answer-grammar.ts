import { createHash } from 'node:crypto'
import { type Llama, LlamaGrammar, LlamaJsonSchemaGrammar } from 'node-llama-cpp'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import { gbnfSchema, toGbnfSchema } from './json-schema.ts'
import type { AnswerConstraint, AnswerFormat } from '../llama/language-model.ts'
import { literalRules } from './literal-trie.ts'
import { nextTurn } from '../llama/loop-turn.ts'
import { checkAlternatives } from './schema-alternatives.ts'
import { liftEnums } from './schema-enums.ts'

/**
 * The end of the grammars that the library makes: empty lines, which it cuts off later. Ours end where the value ends.
 */
const libraryEnding = / "(?:\\n){4}" \[\\n\]\*$/m
/** How many compiled grammars are kept, the most recently used ones. */
const rememberedGrammars = 32

/** Compiles grammars for the forms that answers must have, and keeps them for the next request with the same form. */
export class AnswerGrammars {
  readonly #llama: Llama
  readonly #compiled = new Map<string, Promise<LlamaGrammar>>()

  constructor(llama: Llama) {
    this.#llama = llama
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

  async #create(format: AnswerFormat): Promise<LlamaGrammar> {
    switch (format.type) {
      case 'one_of':
        return this.#llama.createGrammar({ grammar: oneOfGrammar(format.texts) })
      case 'json_object': {
        const { grammar } = await this.#llama.getGrammarFor('json')
        // The library's rule allows endless white space after the last brace.
        return this.#llama.createGrammar({ grammar: grammar.replace(/^object ::=([^]*?)\}" ws$/m, 'object ::=$1}"') })
      }
      case 'json_schema':
        return this.#forSchema(format.schema, format.param)
      default:
        throw new SluiceError('internal_error')
    }
  }

  async #forSchema(schema: unknown, param: string): Promise<LlamaGrammar> {
    // For the largest schema that is accepted, each of these steps takes about 20 ms, and the library's own about 50
    // ms. Other requests get their turn in between.
    const converted = toGbnfSchema(schema, param)
    await nextTurn()
    checkAlternatives(converted, param)
    await nextTurn()
    const { schema: subset, putBack } = liftEnums(converted, param)
    await nextTurn()
    try {
      const { grammar } = new LlamaJsonSchemaGrammar(this.#llama, gbnfSchema(subset))
      if (!libraryEnding.test(grammar)) throw new Error('its grammar ends in an unknown way')
      await nextTurn()
      const whole = putBack(grammar.replace(libraryEnding, ''))
      await nextTurn()
      return await this.#llama.createGrammar({ grammar: whole })
    } catch (error) {
      if (error instanceof SluiceError) throw error
      const reason = `The schema cannot be used: ${errorMessage(error)}`
      throw new SluiceError('invalid_request', { reason, param }, { cause: error })
    }
  }
}

function oneOfGrammar(texts: readonly string[]): string {
  const { expression, rules } = literalRules(texts, 'text')
  return [`root ::= ${expression}`, ...rules].join('\n')
}

export function requireGrammar({ grammar }: AnswerConstraint): LlamaGrammar {
  if (!(grammar instanceof LlamaGrammar)) throw new SluiceError('internal_error')
  return grammar
}
