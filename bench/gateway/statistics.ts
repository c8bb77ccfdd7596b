export function percentile(sorted: Float64Array, of: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * of))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  return percentile(Float64Array.from(values).sort(), 0.5)
}
