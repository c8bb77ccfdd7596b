import { type AddressRange, formatAddress, sizeOf } from './address-range.ts'

/** IPv4 addresses from the first to the last, both among them. */
export interface AddressSpan {
  readonly first: number
  readonly last: number
}

export function spanOf(range: AddressRange): AddressSpan {
  return { first: range.first, last: range.first + sizeOf(range) - 1 }
}

/** The same addresses in order, each once, in as few spans as there can be. */
export function joinSpans(spans: readonly AddressSpan[]): AddressSpan[] {
  const joined: AddressSpan[] = []
  for (const span of spans.toSorted((one, other) => one.first - other.first)) {
    const before = joined.at(-1)
    if (before && span.first <= before.last + 1) {
      joined[joined.length - 1] = { first: before.first, last: Math.max(before.last, span.last) }
    } else joined.push(span)
  }
  return joined
}

export function leaveOut(span: AddressSpan, exceptions: readonly AddressSpan[]): AddressSpan[] {
  const left: AddressSpan[] = []
  let next = span.first
  for (const { first, last } of joinSpans(exceptions)) {
    if (last < next || first > span.last) continue
    if (first > next) left.push({ first: next, last: first - 1 })
    next = last + 1
  }
  if (next <= span.last) left.push({ first: next, last: span.last })
  return left
}

export function holdsAddress(spans: readonly AddressSpan[], address: number): boolean {
  return spans.some(({ first, last }) => first <= address && address <= last)
}

/** As nft writes it. */
export function formatSpan({ first, last }: AddressSpan): string {
  return first === last ? formatAddress(first) : `${formatAddress(first)}-${formatAddress(last)}`
}
