/** `3` or `25%` of a total, rounded up or down. */
export function resolveNumberOrPercent(value: number | string, total: number, round: 'up' | 'down'): number {
  if (typeof value === 'number') return value
  const percent = /^(\d+)%$/.exec(value)
  if (!percent) return 0
  const share = (Number(percent[1]) * total) / 100
  return round === 'up' ? Math.ceil(share) : Math.floor(share)
}
