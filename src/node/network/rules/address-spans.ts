import { type AddressFamily, type AddressRange, formatAddress, lastOf } from '../../../resources/address-range.ts'

/** A range of addresses of one family, including both ends. */
export interface AddressSpan {
  readonly first: bigint
  readonly last: bigint
}

export function spanOf(range: AddressRange): AddressSpan {
  return { first: range.first, last: lastOf(range) }
}

/** The same addresses, sorted and merged into as few spans as possible. */
export function joinSpans(spans: readonly AddressSpan[]): AddressSpan[] {
  const joined: AddressSpan[] = []
  for (const span of spans.toSorted((one, other) => (one.first < other.first ? -1 : 1))) {
    const before = joined.at(-1)
    if (before && span.first <= before.last + 1n) {
      joined[joined.length - 1] = { first: before.first, last: before.last > span.last ? before.last : span.last }
    } else joined.push(span)
  }
  return joined
}

export function leaveOut(span: AddressSpan, exceptions: readonly AddressSpan[]): AddressSpan[] {
  const left: AddressSpan[] = []
  let next = span.first
  for (const { first, last } of joinSpans(exceptions)) {
    if (last < next || first > span.last) continue
    if (first > next) left.push({ first: next, last: first - 1n })
    next = last + 1n
  }
  if (next <= span.last) left.push({ first: next, last: span.last })
  return left
}

export function holdsAddress(spans: readonly AddressSpan[], address: bigint): boolean {
  return spans.some(({ first, last }) => first <= address && address <= last)
}

/** The span in nft's syntax. */
export function formatSpan({ first, last }: AddressSpan, family: AddressFamily): string {
  const text = formatAddress({ family, value: first })
  return first === last ? text : `${text}-${formatAddress({ family, value: last })}`
}
