/** One layer of a stacked picture, as the path of its area. */
export interface Layer {
  readonly name: string
  readonly path: string
}

export interface StackOptions {
  readonly width: number
  readonly height: number
  /** The value at the upper edge. */
  readonly top: number
  /** How many places there are from left to right; fewer samples leave room on the left, where nothing is known. */
  readonly places: number
}

/** Stacks what each name had in each sample. Steps, not slopes: a card is held or not. */
export function stackedSteps(
  samples: ReadonlyArray<Readonly<Record<string, number>>>,
  { width, height, top, places }: StackOptions,
): Layer[] {
  const names = [...new Set(samples.flatMap((sample) => Object.keys(sample)))].sort()
  const floor = samples.map(() => 0)
  const step = width / places
  const left = width - samples.length * step
  const y = (value: number) => round(height - (Math.min(value, top) / Math.max(top, 1e-9)) * height)
  return names.map((name) => {
    const lower: string[] = []
    const upper: string[] = []
    for (const [at, sample] of samples.entries()) {
      const below = floor[at] ?? 0
      const above = below + (sample[name] ?? 0)
      floor[at] = above
      const [from, to] = [round(left + at * step), round(left + (at + 1) * step)]
      upper.push(`L${from} ${y(above)}`, `L${to} ${y(above)}`)
      lower.unshift(`L${to} ${y(below)}`, `L${from} ${y(below)}`)
    }
    const [, ...rest] = upper
    return { name, path: upper.length === 0 ? '' : `M${upper[0]?.slice(1)}${rest.join('')}${lower.join('')}Z` }
  })
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
