import type { Document, YAMLError } from 'yaml'
import { StatusError } from '../../resources/status-error.ts'
import { duplicateFields } from '../duplicate-fields.ts'
import { type JsonObject, isDeeperThan, isJsonObject } from '../json-value.ts'
import type { FieldValidation } from '../object-decode.ts'

export interface BodyReading {
  readonly fieldValidation?: FieldValidation | undefined
  readonly warn?: ((warning: string) => void) | undefined
}

const deepest = 128
/** A manifest has few; a bomb made of them has many. */
const mostAliases = 100

/** The manifest in the body of an apply: YAML, or JSON, which most clients send and which is much the quicker. */
export async function readManifest(text: string, reading: BodyReading): Promise<JsonObject> {
  const { value, duplicates } = readJson(text) ?? (await readYaml(text))
  if (value === null || value === undefined) return {}
  if (!isJsonObject(value)) throw badYaml('the manifest is not an object')
  if (isDeeperThan(value, deepest)) throw badYaml(`the manifest is nested deeper than ${deepest} levels`)
  const { fieldValidation = 'Warn', warn = () => {} } = reading
  if (fieldValidation === 'Ignore' || duplicates.length === 0) return value
  if (fieldValidation === 'Warn') for (const warning of duplicates) warn(warning)
  else throw badYaml(`error converting YAML to JSON: yaml: unmarshal errors:\n  ${duplicates.join('\n  ')}`, 'strict ')
  return value
}

interface Parsed {
  readonly value: unknown
  /** As `line 1: key "x" already set in map`. */
  readonly duplicates: readonly string[]
}

function readJson(text: string): Parsed | undefined {
  if (!/^\s*\{/.test(text)) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return { value, duplicates: duplicateFields(text).map(({ line, name }) => alreadySet(line, name)) }
}

async function readYaml(text: string): Promise<Parsed> {
  // Loaded when the first one comes: it is large, and few clients send YAML.
  const { LineCounter, parseAllDocuments } = await import('yaml')
  const lineCounter = new LineCounter()
  try {
    // Kubernetes reads YAML 1.1, times as the text they are, and the first document alone.
    const documents = parseAllDocuments(text, {
      version: '1.1',
      customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:timestamp'),
      lineCounter,
      prettyErrors: false,
      logLevel: 'silent',
      stringKeys: false,
    })
    const document: Document | undefined = Array.isArray(documents) ? documents[0] : undefined
    if (!document) return { value: undefined, duplicates: [] }
    const broken = document.errors.find(({ code }) => code !== 'DUPLICATE_KEY')
    if (broken) throw malformed(lineCounter.linePos(broken.pos[0]).line, broken.code)
    const duplicates = document.errors.map((error) =>
      alreadySet(lineCounter.linePos(error.pos[0]).line, keyAt(text, error)),
    )
    const value: unknown = document.toJS({ maxAliasCount: mostAliases })
    return { value, duplicates }
  } catch (error) {
    if (error instanceof StatusError) throw error
    throw badYaml('the manifest has too many aliases, or is nested too deeply')
  }
}

/** Only where and what kind of thing: the text may be part of a Secret. */
function malformed(line: number, code: string): StatusError {
  const what = code.toLowerCase().replaceAll('_', ' ')
  return badYaml(`error converting YAML to JSON: yaml: line ${line}: ${what}`)
}

function keyAt(text: string, { pos }: YAMLError): string {
  const rest = text.slice(pos[0], pos[0] + 253)
  const [, quoted, single, plain] = /^(?:"([^"]*)"|'([^']*)'|([^:\n]*?)\s*:)/.exec(rest) ?? []
  return quoted ?? single ?? plain ?? ''
}

function alreadySet(line: number, key: string): string {
  return `line ${line}: key ${JSON.stringify(key)} already set in map`
}

function badYaml(why: string, how = ''): StatusError {
  return new StatusError('BadRequest', `error ${how}decoding YAML: ${why}`)
}
