import { StatusError } from '../../resources/status-error.ts'
import { duplicateFields } from './duplicate-fields.ts'
import { type JsonObject, isDeeperThan, isJsonObject } from '../../resources/json-value.ts'
import type { FieldValidation } from '../writing/object-decode.ts'
import { LargeYaml } from './large-yaml.ts'
import { badYaml } from './yaml-refusal.ts'
import type { ParsedText } from './yaml-text.ts'

export interface BodyReading {
  readonly fieldValidation?: FieldValidation | undefined
  readonly warn?: ((warning: string) => void) | undefined
  /** The most fields and items together. */
  readonly mostValues?: number | undefined
  /** Aborted when nobody waits for the answer any more; only called where reading takes long. */
  readonly signal?: (() => AbortSignal) | undefined
}

/** The deepest nesting. */
export const deepest = 128
/** Texts up to this length are read at once. */
const longestAtOnce = 16 * 1024
/** The longest YAML; JSON, which almost every client sends, may be longer. */
const longestYaml = 1024 * 1024

const large = new LargeYaml()

/**
 * Reads the manifest in the body of an apply: YAML, or JSON, which most clients send and which is much faster to read.
 */
export async function readManifest(text: string, reading: BodyReading): Promise<JsonObject> {
  const { value, duplicates: repeated } = readJson(text) ?? (await readYaml(text, reading))
  if (value === null || value === undefined) return {}
  if (!isJsonObject(value)) throw badYaml('the manifest is not an object')
  if (isDeeperThan(value, deepest)) throw badYaml(`the manifest is nested deeper than ${deepest} levels`)
  const { fieldValidation = 'Warn', warn = () => {} } = reading
  if (fieldValidation === 'Ignore' || repeated.length === 0) return value
  const duplicates = repeated.map(({ line, name }) => alreadySet(line, name))
  if (fieldValidation === 'Warn') for (const warning of duplicates) warn(warning)
  else throw badYaml(`error converting YAML to JSON: yaml: unmarshal errors:\n  ${duplicates.join('\n  ')}`, 'strict ')
  return value
}

function readJson(text: string): ParsedText | undefined {
  if (!/^\s*\{/.test(text)) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return { value, duplicates: duplicateFields(text) }
}

async function readYaml(text: string, { mostValues, signal }: BodyReading): Promise<ParsedText> {
  if (text.length > longestYaml) {
    const why = `limit is ${longestYaml} for YAML; as JSON it may be larger`
    throw new StatusError('RequestEntityTooLarge', `Request entity too large: ${why}`)
  }
  if (text.length > longestAtOnce) return large.parse(text, { mostValues, signal: signal?.() })
  // Loaded on first use: it is large, and few clients send YAML.
  const { parseYaml } = await import('./yaml-text.ts')
  return parseYaml(text)
}

function alreadySet(line: number, key: string): string {
  return `line ${line}: key ${JSON.stringify(key.slice(0, 253))} already set in map`
}
