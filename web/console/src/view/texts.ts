/** `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min` */
export function durationText(ms: number): string {
  if (ms < 10_000) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`
  return minutes % 60 === 0 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `just now`, `5 min ago`, `3 h ago`, `2 d ago` */
export function agoText(at: number, now: number): string {
  const minutes = Math.floor((now - at) / 60_000)
  if (minutes < 1) return 'just now'
  if (minutes < 60) return `${minutes} min ago`
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ago`
  return `${Math.floor(minutes / 1440)} d ago`
}

/** The time of day for what happened today, else with its day. */
export function whenText(at: string, now = Date.now()): string {
  const when = new Date(at)
  return when.toDateString() === new Date(now).toDateString() ? when.toLocaleTimeString() : when.toLocaleString()
}

/** Of an object; the server's times are RFC 3339. */
export function ageText(createdAt: string | undefined, now: number): string {
  const at = Date.parse(createdAt ?? '')
  return Number.isNaN(at) ? '' : agoText(at, now)
}

export function counted(count: number, one: string, more = `${one}s`): string {
  return `${count} ${count === 1 ? one : more}`
}

export function gibibytes(bytes: number): string {
  const gib = bytes / 2 ** 30
  return `${gib >= 10 ? Math.round(gib) : Math.round(gib * 10) / 10} GiB`
}

/** Of files: `98 MiB`, `3 GiB` */
export function sizeText(bytes: number): string {
  return bytes < 2 ** 30 ? `${Math.max(1, Math.round(bytes / 2 ** 20))} MiB` : gibibytes(bytes)
}

/** Of cards: `40 s`, `12 min`, `3.5 h`, `120 h` */
export function cardTime(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`
  const hours = seconds / 3_600
  return `${(hours < 10 ? Math.round(hours * 10) / 10 : Math.round(hours)).toLocaleString()} h`
}
