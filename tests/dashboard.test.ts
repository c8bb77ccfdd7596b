import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { documentedMetrics } from './support/metric-docs.ts'

const text = readFileSync(new URL('../charts/sluice/dashboards/sluice.json', import.meta.url), 'utf8')
const dashboard = JSON.parse(text) as {
  panels: Array<{ id: number; type: string; title: string; targets?: Array<{ expr: string; legendFormat: string }> }>
}
const targets = dashboard.panels.flatMap(({ title, targets: asked = [] }) =>
  asked.map((target) => ({ title, ...target })),
)

const documented = new Map(documentedMetrics().map((metric) => [metric.name, metric]))
const series = new Map(
  [...documented.values()].flatMap((metric) =>
    metric.type === 'histogram'
      ? ['_bucket', '_sum', '_count'].map((end) => [metric.name + end, metric] as const)
      : [[metric.name, metric] as const],
  ),
)

describe('the dashboard', () => {
  it('asks only for metrics and labels that exist', () => {
    const strangers = targets.flatMap(({ title, expr, legendFormat }) => {
      const asked = [...expr.matchAll(/sluice_\w+/g)].map(([name]) => name)
      const known = new Set(['le', 'instance', ...asked.flatMap((name) => series.get(name)?.labels ?? [])])
      const selected = [...expr.matchAll(/(\w+)=~?"/g)].map((match) => match[1] ?? '')
      const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap((match) => (match[1] ?? '').split(', '))
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] ?? '')
      return [
        ...(asked.length === 0 ? [`${title} asks for nothing`] : asked.filter((name) => !series.has(name))),
        ...[...selected, ...grouped, ...shown].filter((label) => !known.has(label)).map((label) => `${expr}: ${label}`),
      ]
    })
    expect(strangers).toEqual([])
  })

  it('shows what the gateway, traffic and the autoscaler measure', () => {
    const shown = new Set(
      targets.flatMap(({ expr }) => [...expr.matchAll(/sluice_\w+/g)].map(([name]) => series.get(name)?.name)),
    )
    const left = [...documented.keys()].filter((name) => /^sluice_(gateway|traffic)_/.test(name) && !shown.has(name))
    expect(left).toEqual(['sluice_gateway_response_bytes_total'])
  })

  it('gives every panel a name and an id', () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
    expect(dashboard.panels.every(({ title }) => title !== '')).toBe(true)
  })
})
