import { type JsonObject, sameJson } from '../../resources/json-value.ts'

/** The tolerations of both lists, without those that another one covers. */
export function mergeTolerations(first: readonly JsonObject[], second: readonly JsonObject[]): JsonObject[] {
  const all = [...first, ...second]
  return all.filter(
    (each, index) =>
      !all.some((other, at) => at !== index && includes(other, each) && (at < index || !includes(each, other))),
  )
}

function includes(wide: JsonObject, narrow: JsonObject): boolean {
  if (sameJson(wide, narrow)) return true
  const text = (toleration: JsonObject, field: string) => {
    const value = toleration[field]
    return typeof value === 'string' ? value : ''
  }
  const isWild = text(wide, 'key') === '' && text(wide, 'operator') === 'Exists'
  if (!isWild && text(wide, 'key') !== text(narrow, 'key')) return false
  if (text(wide, 'effect') !== '' && text(wide, 'effect') !== text(narrow, 'effect')) return false
  const most = wide['tolerationSeconds']
  if (text(wide, 'effect') === 'NoExecute' && typeof most === 'number') {
    const asked = narrow['tolerationSeconds']
    if (typeof asked !== 'number' || asked > most) return false
  }
  if (text(wide, 'operator') === 'Exists') return true
  const isEqual = text(narrow, 'operator') === 'Equal'
  return isEqual && text(narrow, 'value') === text(wide, 'value')
}
