import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'

/** What a definition does not say follows from its kind, and its versions are the same but for their names. */
export function completeDefinition<T extends JsonObject>(object: T): T {
  const spec = isJsonObject(object['spec']) ? object['spec'] : undefined
  if (!spec) return object
  const names = isJsonObject(spec['names']) ? spec['names'] : {}
  const kind = typeof names['kind'] === 'string' ? names['kind'] : ''
  const derived =
    kind === ''
      ? {}
      : { singular: names['singular'] || kind.toLowerCase(), listKind: names['listKind'] || `${kind}List` }
  const conversion = spec['conversion'] ?? { strategy: 'None' }
  return { ...object, spec: { ...spec, names: { ...names, ...derived }, conversion } }
}
