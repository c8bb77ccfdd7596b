import type { Column } from '../kind.ts'

/** The last column of our own kinds. The age itself is computed when the table is rendered. */
export const ageColumn: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }

/** The same for Kubernetes' own kinds, with a description. */
export const coreAgeColumn: Column = {
  name: 'Age',
  type: 'string',
  cell: ({ metadata }, now) => ageOf(metadata.creationTimestamp, now),
}

/** The column of kinds without columns of their own. */
export const createdAtColumn: Column = {
  name: 'Created At',
  type: 'date',
  cell: ({ metadata }) => metadata.creationTimestamp ?? '<unknown>',
}

/** How long ago a moment was. */
export function ageOf(at: string | null | undefined, now: number): string {
  const then = at ? Date.parse(at) : Number.NaN
  return Number.isNaN(then) ? '<unknown>' : humanDuration(now - then)
}

/** A duration as kubectl prints it: `45s`, `7m12s`, `3h`, `2d`. */
export function humanDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (days < 8) return withRest(days, 'd', hours % 24, 'h')
  if (days < 730) return `${days}d`
  const years = Math.floor(days / 365)
  return years < 8 ? withRest(years, 'y', days % 365, 'd') : `${years}y`
}

function withRest(whole: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${whole}${unit}` : `${whole}${unit}${rest}${restUnit}`
}
