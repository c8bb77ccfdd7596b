import { readFileSync } from 'node:fs'

/** One row of docs/reference/metrics.md. */
export interface DocumentedMetric {
  readonly name: string
  readonly type: string
  readonly labels: readonly string[]
  readonly meaning: string
}

export function documentedMetrics(): readonly DocumentedMetric[] {
  const page = readFileSync(new URL('../../docs/reference/metrics.md', import.meta.url), 'utf8')
  const rows = page.matchAll(/^\| `([a-z0-9_:]+)` +\| (counter|gauge|histogram|summary) +\| (.*?) *\| (.*?) +\|$/gm)
  return [...rows].map(([, name = '', type = '', labels = '', meaning = '']) => ({
    name,
    type,
    labels: labels === '' ? [] : labels.split(', '),
    meaning,
  }))
}
