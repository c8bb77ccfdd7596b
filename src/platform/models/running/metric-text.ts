/** One series of Prometheus' text format. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const lineForm = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/
const labelForm = /(\w+)="((?:[^"\\]|\\.)*)"/g

/** Reads the series of some metrics from what `/metrics` answers. */
export function readMetrics(text: string, names: ReadonlySet<string>): ReadonlyMap<string, readonly Series[]> {
  const found = new Map<string, Series[]>()
  for (const line of text.split('\n')) {
    const [, name = '', labelText = '', number = ''] = lineForm.exec(line) ?? []
    if (!names.has(name)) continue
    const labels = Object.fromEntries(
      [...labelText.matchAll(labelForm)].map(([, key = '', value = '']) => [key, value]),
    )
    const series = found.get(name)
    const one = { labels, value: Number(number) }
    if (series) series.push(one)
    else found.set(name, [one])
  }
  return found
}
