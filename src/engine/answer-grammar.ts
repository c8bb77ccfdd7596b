import { type Llama, LlamaGrammar, LlamaJsonSchemaGrammar } from 'node-llama-cpp'
import { SluiceError, errorMessage } from '../foundation/errors.ts'
import { toGbnfSchema } from './json-schema.ts'
import type { AnswerConstraint, AnswerFormat } from './language-model.ts'

/** How the library ends a grammar of its own: with empty lines that it cuts off later. Our answers end where the value ends. */
const libraryEnding = / "(?:\\n){4}" \[\\n\]\*$/m
/** Grammars of requests are compiled again only when they have not been used for this many others. */
const rememberedGrammars = 32

/** Compiles what an answer must look like, once per form. */
export class AnswerGrammars {
  readonly #llama: Llama
  readonly #compiled = new Map<string, Promise<LlamaGrammar>>()

  constructor(llama: Llama) {
    this.#llama = llama
  }

  async compile(format: AnswerFormat): Promise<AnswerConstraint> {
    const key = JSON.stringify(format)
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
        return this.#llama.createGrammar({ grammar: `root ::= ${format.texts.map(quote).join(' | ')}` })
      case 'json_object': {
        const { grammar } = await this.#llama.getGrammarFor('json')
        // The library's rule lets white space follow the last brace without end.
        return this.#llama.createGrammar({ grammar: grammar.replace(/^object ::=([^]*?)\}" ws$/m, 'object ::=$1}"') })
      }
      case 'json_schema':
        return this.#forSchema(format.schema, format.param)
      default:
        throw new SluiceError('internal_error')
    }
  }

  async #forSchema(schema: unknown, param: string): Promise<LlamaGrammar> {
    const subset = toGbnfSchema(schema, param)
    try {
      const { grammar } = new LlamaJsonSchemaGrammar(this.#llama, subset)
      if (!libraryEnding.test(grammar)) throw new Error('its grammar ends in an unknown way')
      return await this.#llama.createGrammar({ grammar: grammar.replace(libraryEnding, '') })
    } catch (error) {
      const reason = `The schema cannot be used: ${errorMessage(error)}`
      throw new SluiceError('invalid_request', { reason, param }, { cause: error })
    }
  }
}

export function requireGrammar({ grammar }: AnswerConstraint): LlamaGrammar {
  if (!(grammar instanceof LlamaGrammar)) throw new SluiceError('internal_error')
  return grammar
}

function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}"`
}
