export const indexAnnotation = 'batch.kubernetes.io/job-completion-index'

/** `0,2-4` → 0, 2, 3, 4; indexes that are not below `limit` are left out. */
export function parseIndexes(text: string, limit: number): Set<number> {
  const found = new Set<number>()
  for (const part of text.split(',')) {
    const range = /^(\d+)(?:-(\d+))?$/.exec(part)
    if (!range) continue
    const from = Number(range[1])
    const to = Math.min(Number(range[2] ?? range[1]), limit - 1)
    for (let index = from; index <= to; index += 1) found.add(index)
  }
  return found
}

export function formatIndexes(indexes: ReadonlySet<number>): string {
  const parts: string[] = []
  const sorted = [...indexes].sort((left, right) => left - right)
  for (let at = 0; at < sorted.length; at += 1) {
    const first = sorted[at]
    while (sorted[at + 1] === (sorted[at] ?? 0) + 1) at += 1
    const last = sorted[at]
    // As Kubernetes writes it, two in a row are not a range.
    if (first === last) parts.push(String(first))
    else parts.push(`${first}${last === (first ?? 0) + 1 ? ',' : '-'}${last}`)
  }
  return parts.join(',')
}

export function indexOf(annotations: Readonly<Record<string, string>> | undefined): number | undefined {
  const text = annotations?.[indexAnnotation]
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined
}
