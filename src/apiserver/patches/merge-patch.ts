import { isJsonObject } from '../../resources/json-value.ts'

/** RFC 7396: objects are merged, `null` removes, everything else replaces. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch
  const result: Record<string, unknown> = isJsonObject(target) ? { ...target } : {}
  for (const [field, value] of Object.entries(patch)) {
    if (field === '__proto__') continue
    if (value === null) delete result[field]
    else if (value !== undefined) result[field] = mergePatch(result[field], value)
  }
  return result
}
