interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined
  readonly matchExpressions?:
    | ReadonlyArray<{
        readonly key: string
        readonly operator: string
        readonly values?: readonly string[] | undefined
      }>
    | undefined
}

/** `app=web,tier=front`, as tables show labels. */
export function labelsText(labels: Readonly<Record<string, string>> | undefined): string {
  return (
    Object.entries(labels ?? {})
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, value]) => `${key}=${value}`)
      .join(',') || '<none>'
  )
}

/** A selector as it can be passed to `kubectl get -l`. */
export function selectorText(selector: LabelSelector | undefined): string {
  const equal = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => ({ key, text: `${key}=${value}` }))
  const others = (selector?.matchExpressions ?? []).map(({ key, operator, values = [] }) => ({
    key,
    text: expressionText(key, operator, values),
  }))
  return [...equal, ...others]
    .sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0))
    .map(({ text }) => text)
    .join(',')
}

function expressionText(key: string, operator: string, values: readonly string[]): string {
  const list = values.toSorted().join(',')
  switch (operator) {
    case 'In':
      return `${key} in (${list})`
    case 'NotIn':
      return `${key} notin (${list})`
    case 'Exists':
      return key
    default:
      return `!${key}`
  }
}

const modeWords: ReadonlyArray<readonly [string, string]> = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]

/** `RWO,ROX` */
export function accessModesText(modes: readonly string[] | undefined): string {
  return modeWords
    .filter(([mode]) => modes?.includes(mode))
    .map(([, short]) => short)
    .join(',')
}

/** The first three, and how many more there are. */
export function firstThree(items: readonly string[]): string {
  if (items.length === 0) return '<unset>'
  const shown = items.slice(0, 3).join(',')
  return items.length > 3 ? `${shown} + ${items.length - 3} more...` : shown
}
