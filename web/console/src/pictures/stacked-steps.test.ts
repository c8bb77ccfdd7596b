import { describe, expect, it } from 'vitest'
import { stackedSteps } from './stacked-steps.ts'

const options = { width: 100, height: 10, top: 2, places: 4 }

describe('stackedSteps', () => {
  it('stacks what each name had, in steps, and leaves room on the left for what is not known', () => {
    const layers = stackedSteps([{ a: 1 }, { a: 1, b: 1 }], options)
    expect(layers).toEqual([
      { name: 'a', path: 'M50 5L75 5L75 5L100 5L100 10L75 10L75 10L50 10Z' },
      { name: 'b', path: 'M50 5L75 5L75 0L100 0L100 5L75 5L75 5L50 5Z' },
    ])
  })

  it('draws nothing higher than the picture, and nothing of nothing', () => {
    expect(stackedSteps([{ a: 5 }], options)[0]?.path).toBe('M75 0L100 0L100 10L75 10Z')
    expect(stackedSteps([], options)).toEqual([])
  })
})
