import type { HeaderPairs } from '../../relay/exchange.ts'
import type { HeaderList } from '../../relay/http/header-list.ts'

/** Names the parameters of a request that had no effect. The built-in engine sets it, too. */
export const ignoredParametersName = 'x-sluice-ignored-parameters'
/** With the value `true`: such a request is refused instead. */
const strictName = 'x-sluice-strict'

const mostNamed = 32

export function isStrict(headers: HeaderList): boolean {
  return headers.get(strictName)?.toLowerCase() === 'true'
}

/** The parameters that an engine says it has ignored. */
export function ignoredParameters(headers: HeaderList | undefined): readonly string[] {
  const named = headers?.get(ignoredParametersName)
  return named === undefined ? [] : named.split(', ')
}

export function ignoredParametersHeader(names: readonly string[]): HeaderPairs {
  if (names.length === 0) return []
  const shown = names.slice(0, mostNamed).map((name) => name.slice(0, 64).replaceAll(/[^\w.-]/g, '?'))
  return [[ignoredParametersName, shown.join(', ')]]
}
