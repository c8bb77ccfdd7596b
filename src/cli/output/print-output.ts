import type { Kind } from '../../resources/kind.ts'
import type { OutputForm } from './output-flag.ts'
import { renderTable } from './text-table.ts'

/** How things of one kind are printed, whatever form is asked for. */
export interface Listing<T> {
  /** What `-o name` puts before names, such as `model.sluice.dev`. */
  readonly resource: string
  readonly nameOf: (item: T) => string
  readonly columns: ReadonlyArray<Column<T>>
  /** Said where there is nothing to list, and what to do about it. */
  readonly none: string
}

export interface Column<T> {
  readonly title: string
  /** Only with `-o wide`. */
  readonly wide?: true
  readonly text: (item: T) => string
}

/** What a command prints: `hint` is for people, and never in the way of programs. */
export interface Printed {
  readonly text: string
  readonly hint?: string
}

/** As kubectl names things of a kind: `model.sluice.dev`. */
export function shownResource({ singular, group }: Pick<Kind, 'singular' | 'group'>): string {
  return group === '' ? singular : `${singular}.${group}`
}

/** A list, in the forms that kubectl has. */
export async function renderList<T>(
  items: readonly T[],
  listing: Listing<T>,
  form: OutputForm | undefined,
): Promise<Printed> {
  if (form === 'json' || form === 'yaml') return { text: await asData({ apiVersion: 'v1', kind: 'List', items }, form) }
  if (form === 'name') return { text: items.map((item) => `${listing.resource}/${listing.nameOf(item)}\n`).join('') }
  if (items.length === 0) return { text: '', hint: listing.none }
  const columns = listing.columns.filter(({ wide }) => wide !== true || form === 'wide')
  const rows = items.map((item) => columns.map(({ text }) => text(item)))
  return { text: `${renderTable([columns.map(({ title }) => title), ...rows])}\n` }
}

/** One thing; `lines` are what people read. */
export async function renderObject<T>(
  object: T,
  listing: Pick<Listing<T>, 'resource' | 'nameOf'>,
  form: OutputForm | undefined,
  lines: readonly string[],
): Promise<string> {
  if (form === 'json' || form === 'yaml') return asData(object, form)
  if (form === 'name') return `${listing.resource}/${listing.nameOf(object)}\n`
  return `${lines.join('\n')}\n`
}

export async function asData(all: unknown, form: 'json' | 'yaml'): Promise<string> {
  const value = withoutManagers(all)
  if (form === 'json') return `${JSON.stringify(value, undefined, 2)}\n`
  const { stringify } = await import('yaml')
  return stringify(value, { aliasDuplicateObjects: false })
}

/** Who wrote which field is kept back, as kubectl does: it is longer than everything else. So is what is undefined. */
function withoutManagers(value: unknown): unknown {
  const leaveOut = (name: string, field: unknown): unknown => (name === 'managedFields' ? undefined : field)
  return JSON.parse(JSON.stringify(value, leaveOut))
}

export function print({ text, hint }: Printed): void {
  process.stdout.write(text)
  if (hint !== undefined) console.error(hint)
}

/** Names that others chose must not steer the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?')
}
