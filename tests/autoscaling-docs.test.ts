import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { dayFigure } from '../bench/autoscaler/day-figure.ts'

const read = (path: string) => readFileSync(new URL(`../docs/${path}`, import.meta.url), 'utf8')

describe('docs/explanation/autoscaling.md', () => {
  it('shows what the autoscaler decides today (else run scripts/draw-autoscaling.ts)', () => {
    const { svg, outcome } = dayFigure()
    expect(svg).toBe(read('pictures/autoscaling.svg'))
    const page = read('explanation/autoscaling.md').replaceAll(/\s+/g, ' ')
    const { requests, coldRequests, podSeconds } = outcome
    expect(page).toContain(`Of ${requests.toLocaleString('en')} requests ${coldRequests} found the model asleep`)
    expect(page).toContain(`held a card for ${(podSeconds / 3600).toFixed(1)} hours`)
  })
})
