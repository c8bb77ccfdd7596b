import {
  Composer,
  type Document,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
} from 'yaml'
import { StatusError } from '../../resources/status-error.ts'
import { badYaml } from './yaml-refusal.ts'

export interface ParsedText {
  readonly value: unknown
  /** Keys that a map has more than once, with the line of each repetition. */
  readonly duplicates: ReadonlyArray<{ readonly line: number; readonly name: string }>
}

/** Anchors and aliases together; manifests have few. */
const mostReferences = 1_000
/** The most values a text may have when every alias is replaced by what it stands for. */
const mostValues = 500_000
const mostTold = 32

/** Reads the first document of a YAML text as Kubernetes does: YAML 1.1, with times as text. */
export function parseYaml(text: string): ParsedText {
  const lineCounter = new LineCounter()
  try {
    const document = firstDocument(text, lineCounter)
    if (!document) return { value: undefined, duplicates: [] }
    const [broken] = document.errors
    if (broken) throw malformed(lineCounter.linePos(broken.pos[0]).line, broken.code)
    const duplicates = new DocumentCheck(lineCounter).check(document.contents)
    // The size of the aliases was already checked; the library's own count takes far longer.
    return { value: document.toJS({ maxAliasCount: -1 }), duplicates }
  } catch (error) {
    if (error instanceof StatusError) throw error
    throw badYaml('the manifest has too many aliases, or is nested too deeply')
  }
}

function firstDocument(text: string, lineCounter: LineCounter): Document | undefined {
  const composer = new Composer({
    version: '1.1',
    customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:timestamp'),
    lineCounter,
    prettyErrors: false,
    logLevel: 'silent',
    stringKeys: false,
    // The library would compare every key with every other.
    uniqueKeys: false,
  })
  for (const document of composer.compose(new Parser(lineCounter.addNewLine).parse(text))) return document
  return undefined
}

/** Goes through a document once, looking for repeated keys and for aliases that expand to too much. */
class DocumentCheck {
  readonly #lines: LineCounter
  readonly #duplicates: Array<{ line: number; name: string }> = []
  /** How many values an anchor stands for. */
  readonly #weights = new Map<string, number>()
  #references = 0

  constructor(lines: LineCounter) {
    this.#lines = lines
  }

  check(contents: Node | null): ParsedText['duplicates'] {
    this.#weigh(contents)
    return this.#duplicates
  }

  /** How many values a node expands to. */
  #weigh(node: unknown): number {
    if (isAlias(node)) {
      this.#refer()
      return this.#weights.get(node.source) ?? 1
    }
    if (isPair(node)) return this.#bounded(this.#weigh(node.key) + this.#weigh(node.value))
    let weight = 1
    if (isCollection(node)) {
      if (isMap(node)) this.#findDuplicates(node.items)
      for (const item of node.items) weight = this.#bounded(weight + this.#weigh(item))
    }
    const anchor = isNode(node) && 'anchor' in node ? node.anchor : undefined
    if (typeof anchor === 'string') {
      this.#refer()
      this.#weights.set(anchor, weight)
    }
    return weight
  }

  #bounded(weight: number): number {
    if (weight > mostValues) throw badYaml('the manifest has too many values, or too many aliases of them')
    return weight
  }

  #refer(): void {
    this.#references += 1
    if (this.#references > mostReferences) throw badYaml('the manifest has too many anchors, or too many aliases')
  }

  #findDuplicates(pairs: readonly Pair[]): void {
    const seen = new Set<unknown>()
    for (const { key } of pairs) {
      if (!isScalar(key)) continue
      if (seen.has(key.value) && this.#duplicates.length < mostTold) {
        const line = this.#lines.linePos(key.range?.[0] ?? 0).line
        this.#duplicates.push({ line, name: String(key.value) })
      }
      seen.add(key.value)
    }
  }
}

/** Says only where and what kind of mistake: the text may be part of a Secret. */
function malformed(line: number, code: string): StatusError {
  const what = code.toLowerCase().replaceAll('_', ' ')
  return badYaml(`error converting YAML to JSON: yaml: line ${line}: ${what}`)
}
