/** One write as it is stored in the file. */
export interface LogRow {
  readonly revision: number
  readonly type: 'created' | 'updated' | 'deleted'
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly previous: number
  readonly object: string | null
  /** The object of the row that this one replaced, where it was asked for. */
  readonly previousObject: string | null
}

/** Validated by hand: a start reads every row, and a schema library would take most of that time. */
export function readLogRow(raw: Readonly<Record<string, unknown>>): LogRow {
  const { type } = raw
  if (type !== 'created' && type !== 'updated' && type !== 'deleted') throw wrong(raw, 'type')
  return {
    revision: integer(raw, 'revision'),
    type,
    resource: text(raw, 'resource'),
    namespace: text(raw, 'namespace'),
    name: text(raw, 'name'),
    previous: integer(raw, 'previous'),
    object: textOrNull(raw, 'object'),
    previousObject: textOrNull(raw, 'previousObject'),
  }
}

function integer(raw: Readonly<Record<string, unknown>>, column: string): number {
  const value = raw[column]
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw wrong(raw, column)
}

function text(raw: Readonly<Record<string, unknown>>, column: string): string {
  const value = raw[column]
  if (typeof value === 'string') return value
  throw wrong(raw, column)
}

function textOrNull(raw: Readonly<Record<string, unknown>>, column: string): string | null {
  return raw[column] === null || raw[column] === undefined ? null : text(raw, column)
}

function wrong(raw: Readonly<Record<string, unknown>>, column: string): Error {
  return new Error(`revision ${String(raw['revision'])} has no ${column}`)
}
