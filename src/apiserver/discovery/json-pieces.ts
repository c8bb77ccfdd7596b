import { isJsonObject, type JsonObject } from '../../resources/json-value.ts'
import type { Phases } from '../writing/write-phases.ts'

/** What has very many members, or a member that has. */
const large = new Set(['paths', 'definitions', 'components', 'schemas'])

/** Hands over the JSON of an OpenAPI document piece by piece: together what `JSON.stringify` makes of it. */
export function* jsonPieces(document: JsonObject, take: (text: string) => void): Phases<void> {
  let before = '{'
  for (const [key, value] of Object.entries(document)) {
    if (value === undefined) continue
    const name = `${before}${JSON.stringify(key)}:`
    before = ','
    if (large.has(key) && isJsonObject(value)) {
      take(name)
      yield* jsonPieces(value, take)
    } else {
      take(name + JSON.stringify(value))
      yield
    }
  }
  take(before === '{' ? '{}' : '}')
}
